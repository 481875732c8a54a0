package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/internal/redistest"
)

// list writes addresses, or what, as YAML.
func list(before string, addrs ...string) string {
	quoted := make([]string, len(addrs))
	for i, a := range addrs {
		quoted[i] = fmt.Sprintf("%q", before+a)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// asked calls every command that asks a fleet, or controls it, for a job that a worker serves.
func asked(t *testing.T, path, job string) {
	t.Helper()
	for _, args := range [][]string{
		{"status"}, {"history", job}, {"why", job}, {"trigger", job, "--wait"}, {"pause", job}, {"resume", job}, {"repair", job},
	} {
		r := do(t, nil, append(args, "--config", path)...)
		require.Equal(t, 0, r.code, "%s: %s%s", args[0], r.stdout, r.stderr)
	}
	examined(t, path, `\nfleet +(- +)?ok +\d+ live replica`)
}

// examined calls doctor until nothing fails and it prints what each pattern matches. A worker is
// ready before its first heartbeat is in the store, and on a busy machine a later one can be
// overdue.
func examined(t *testing.T, path string, patterns ...string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		r := do(t, nil, "doctor", "--config", path)
		require.Equal(c, 0, r.code, r.stdout+r.stderr)
		for _, pattern := range patterns {
			require.Regexp(c, pattern, r.stdout)
		}
	}, patience, 50*time.Millisecond)
}

// eachTickOnce requires that no tick was settled twice.
func eachTickOnce(t *testing.T, job string, workers ...*process) {
	t.Helper()
	ran := map[any]any{}
	for _, p := range workers {
		for _, r := range p.all("tick settled", "job", job, "outcome", "succeeded") {
			require.NotContains(t, ran, r["tick"], "ran on both")
			ran[r["tick"]] = r["replica"]
		}
	}
}

func (p *process) settled(job string) int {
	return len(p.all("tick settled", "job", job, "outcome", "succeeded"))
}

func TestAWorkerRunsOnACluster(t *testing.T) {
	t.Parallel()
	rights, onCluster := documentedRights(t)
	app := slices.Concat([]string{"app", "on", ">secret"}, rights, onCluster, streamRights)
	c := redistest.StartCluster(t, redistest.WithConf("user", app...))
	path := filetest.Config(t, "redis: {addrs: "+list("", c.Addrs()[:2]...)+", cluster: true, username: app, password: secret}\nlease: {ttl: 2s}\n"+oneJob+streamJob[len("\njobs:\n"):])
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.ready(http.StatusOK)
	second.ready(http.StatusOK)
	asked(t, path, "hello")
	client := c.Connect(t)
	require.Eventually(t, func() bool { return client.XLen(t.Context(), "ticks").Val() >= 2 }, patience, 10*time.Millisecond)

	warned := first.await("Redis is not as it should be", "check", "persistence")
	require.Contains(t, warned["finding"], "no append-only file")
	require.Len(t, warned["servers"], 3, "once for all masters")
	require.Contains(t, warned["change"], "set appendonly yes")

	killed := c.FailOver((*redistest.Server).Kill)
	for _, job := range []string{"hello", "announce"} {
		before := first.settled(job) + second.settled(job)
		require.Eventually(t, func() bool { return first.settled(job)+second.settled(job) >= before+3 }, patience, 10*time.Millisecond)
	}
	require.Contains(t, do(t, nil, "doctor", "--config", path).stdout, "cluster")
	killed.Restart()
	c.Settle()
	for _, p := range []*process{first, second} {
		p.signal(syscall.SIGTERM)
		require.Equal(t, 0, p.exit())
	}
	eachTickOnce(t, "hello", first, second)
	eachTickOnce(t, "announce", first, second)
}

func TestAWorkerRunsOnSentinel(t *testing.T) {
	t.Parallel()
	rights, _ := documentedRights(t)
	app := slices.Concat([]string{"app", "on", ">secret"}, rights, streamRights, []string{"+wait"})
	w := redistest.StartWatched(t, []redistest.Option{redistest.WithConf("user", app...)},
		[]redistest.Option{redistest.WithConf("user", append([]string{"sentinel", "on", ">hidden"}, sentinelRights...)...)})
	path := filetest.Config(t, "redis: {addrs: "+list("", w.Addrs()...)+", master: main, wait_replicas: 1, username: app, password: secret, "+
		"sentinel_username: sentinel, sentinel_password: hidden}\nlease: {ttl: 2s}\n"+oneJob+streamJob[len("\njobs:\n"):])
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.ready(http.StatusOK)
	second.ready(http.StatusOK)
	asked(t, path, "hello")

	w.Sentinels[0].Kill()
	examined(t, path, `sentinel +`+w.Sentinels[0].Addr()+` +warn +.*\n  change: check that this Sentinel runs`,
		`sentinel +`+w.Sentinels[1].Addr()+` +ok +names `+`127.0.0.1:\d+; \d usable Sentinels`,
		`persistence +127.0.0.1:\d+ +warn +no append-only file`)
	w.Sentinels[0].Restart()

	w.FailOver((*redistest.Server).Kill)
	for _, job := range []string{"hello", "announce"} {
		before := first.settled(job) + second.settled(job)
		require.Eventually(t, func() bool { return first.settled(job)+second.settled(job) >= before+3 }, patience, 10*time.Millisecond)
	}
	for _, p := range []*process{first, second} {
		p.signal(syscall.SIGTERM)
		require.Equal(t, 0, p.exit())
	}
	eachTickOnce(t, "hello", first, second)
	eachTickOnce(t, "announce", first, second)
}

// What operations.md lists for redis_stream jobs, and for Sentinels.
var (
	streamRights   = []string{"+type", "+xadd", "+zcard", "+zremrangebyrank", "~ticks", "~{ticks}:solotick:*"}
	sentinelRights = []string{"+auth", "+hello", "+ping", "+subscribe", "+psubscribe", "+sentinel", "&*"}
)

func TestTheDocumentedRightsAreEnoughForAWorker(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), "`+type +xadd +zcard +zremrangebyrank`, and the keys `~STREAM ~{STREAM}:solotick:*`")
	require.Contains(t, string(doc), "`+auth +hello +ping +subscribe +psubscribe +sentinel`, and the channels `&*`")
	rights, _ := documentedRights(t)
	server := redistest.Start(t, redistest.WithAOF(),
		redistest.WithConf("user", slices.Concat([]string{"app", "on", ">secret"}, rights, streamRights)...))
	path := filetest.Config(t, "redis: {url: 'redis://"+server.Addr()+"', username: app, password: secret}\nlease: {ttl: 2s}\n"+
		oneJob+streamJob[len("\njobs:\n"):]+leaderJob)
	p := start(t, path, "--http", "127.0.0.1:0", "--log-level", "debug")
	p.ready(http.StatusOK)
	for _, job := range []string{"hello", "announce"} {
		asked(t, path, job)
		require.Eventually(t, func() bool { return p.settled(job) >= 2 }, patience, 10*time.Millisecond)
	}
	p.await("output", "job", "leads", "line", "I lead")
	p.signal(syscall.SIGTERM)
	require.Equal(t, 0, p.exit())
	require.NotContains(t, p.text(), "NOPERM")
	require.Empty(t, p.all("Redis is not as it should be"))
}

const leaderJob = `- name: leads
  leader: true
  exec: {command: [sh, -c, "echo I lead; sleep 60"], kill_grace: 1s}
`

func TestAWorkerRunsOnAQuorum(t *testing.T) {
	t.Parallel()
	var servers []*redistest.Server
	var addrs []string
	for range 3 {
		s := redistest.Start(t, redistest.WithConf("user", "app", "on", ">secret", "~*", "&*", "+@all"))
		servers, addrs = append(servers, s), append(addrs, s.Addr())
	}
	path := filetest.Config(t, "redis: {quorum: "+list("redis://", addrs...)+", username: app, password: secret}\nlease: {ttl: 2s}\n"+oneJob)
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	down := first.await("store does not answer; nothing starts until it does")
	require.Contains(t, down["hint"], "wait: a server of a quorum counts when it has remembered the namespace")
	first.ready(http.StatusOK)
	second.ready(http.StatusOK)
	asked(t, path, "hello")
	warned := first.await("Redis is not as it should be", "check", "persistence")
	require.Len(t, warned["servers"], 3)

	servers[0].Kill()
	before := first.settled("hello") + second.settled("hello")
	require.Eventually(t, func() bool { return first.settled("hello")+second.settled("hello") >= before+3 }, patience, 10*time.Millisecond)
	examined(t, path, `reachable +`+addrs[0]+` +warn +.*refused`, `majority +- +ok +2 of 3 nodes answer`, `messages +- +ok`)
	require.Eventually(t, func() bool {
		r := do(t, nil, "status", "--config", path)
		return r.code == 0 && strings.Contains(r.stdout, "\nsecond ")
	}, patience, 50*time.Millisecond)

	servers[1].Kill()
	require.Contains(t, first.ready(http.StatusServiceUnavailable), "does not answer")
	r := do(t, nil, "doctor", "--config", path)
	require.Equal(t, 1, r.code, r.stdout)
	require.Regexp(t, `majority +- +fail +.*1 of 3 nodes`, r.stdout)
	r = do(t, nil, "status", "--config", path)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "Redis at quorum "+strings.Join(addrs, ", "))

	servers[1].Restart()
	first.ready(http.StatusOK)
	for _, p := range []*process{first, second} {
		p.signal(syscall.SIGTERM)
		require.Equal(t, 0, p.exit())
	}
	eachTickOnce(t, "hello", first, second)
}

func TestAURLOfTheCommandLineReplacesEveryServer(t *testing.T) {
	s := newSite(t, redistest.WithAOF())
	path := filetest.Config(t, "namespace: billing\nredis: {addrs: ['127.0.0.1:1'], master: main, password: x}\n"+oneJob)
	r := do(t, nil, "doctor", "--config", path, "--redis", s.server.URL())
	require.Equal(t, 0, r.code, r.stdout+r.stderr)
	require.NotContains(t, r.stdout, "sentinel")
}

func TestAStreamHasNoPlaceInAQuorum(t *testing.T) {
	path := filetest.Config(t, "redis: {quorum: "+list("redis://", "a", "b", "c")+"}"+streamJob)
	r := do(t, nil, "validate", "--config", path)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, path+":3:1: jobs[0].redis_stream: needs one Redis, and redis.quorum names several")
}

func TestUnusableStoreEndsTheStart(t *testing.T) {
	t.Parallel()
	inCluster := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes"))
	slots := []int{0, 16383}
	require.NoError(t, inCluster.Client(t).ClusterAddSlotsRange(t.Context(), slots[0], slots[1]).Err())
	plain := redistest.Start(t)
	sentinel := redistest.StartSentinel(t, "main", plain, 1, time.Second)
	for name, test := range map[string]struct{ redis, want string }{
		"a cluster-mode server at a URL": {
			"{url: 'redis://" + inCluster.Addr() + "'}",
			"this server is in Cluster mode: it has only a part of the records, and cannot renew leases of different slots together: " +
				"set redis to addrs: [\"" + inCluster.Addr() + "\"] and cluster: true instead of url",
		},
		"a cluster-mode server in a quorum": {
			"{quorum: " + list("redis://", plain.Addr(), inCluster.Addr(), "127.0.0.1:1") + "}",
			"name servers in redis.quorum that are not in Cluster mode",
		},
		"a Sentinel at a URL": {
			"{url: 'redis://" + sentinel.Addr() + "'}", "this is a Sentinel, which stores no records: set redis to addrs: [\"" + sentinel.Addr() + "\"] and master: NAME",
		},
		"a server that is not part of a Cluster": {
			"{addrs: ['" + plain.Addr() + "'], cluster: true}", "this server is not in Cluster mode: set redis to url: redis://" + plain.Addr(),
		},
		"a primary that Sentinel does not know": {
			"{addrs: ['" + sentinel.Addr() + "'], master: mian}", `it knows no primary called "mian": set redis.master to the name in its sentinel monitor: it watches main`,
		},
		"a server that is no Sentinel": {
			"{addrs: ['" + plain.Addr() + "'], master: main}", "this is no Sentinel: list the Sentinels in redis.addrs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, filetest.Config(t, "redis: "+test.redis+"\n"+oneJob), "--http", "127.0.0.1:0")
			require.Equal(t, 2, p.exit())
			require.Contains(t, p.plain(), test.want)
			require.Empty(t, p.all("worker started"))
			require.Empty(t, p.all("run started"))
		})
	}
}

// plain is the part of stderr that was not logged.
func (p *process) plain() string {
	var b strings.Builder
	for _, r := range p.records() {
		if text, ok := r["plain"].(string); ok {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

func TestLateClusterModeServerEndsTheWorker(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes"))
	server.Kill()
	p := start(t, filetest.Config(t, "redis: {url: 'redis://"+server.Addr()+"'}\n"+oneJob), "--http", "127.0.0.1:0")
	p.await("store does not answer; nothing starts until it does")
	p.await("worker started")
	server.Restart()
	require.Equal(t, 2, p.exit())
	require.Contains(t, p.plain(), "and cluster: true instead of url")
}

func TestStartLogsFindingsOnce(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t)
	for name, test := range map[string]struct {
		conf   []redistest.Option
		check  string
		result string
		find   string
		change string
	}{
		"volatile-lru": {
			[]redistest.Option{redistest.WithConf("maxmemory", "64mb"), redistest.WithConf("maxmemory-policy", "volatile-lru")},
			"eviction", "fail", "volatile-lru: Redis evicts records of jobs when memory runs out", "set maxmemory-policy noeviction",
		},
		"no persistence": {nil, "persistence", "warn", "no persistence", "set appendonly yes"},
		"a replica":      {[]redistest.Option{redistest.WithReplicaOf(primary)}, "replication", "fail", "this is a Redis replica", "set redis.url to the primary"},
		"little memory":  {[]redistest.Option{redistest.WithAOF(), redistest.WithConf("maxmemory", "1")}, "memory", "fail", "of maxmemory", "raise maxmemory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, test.conf...)
			p := start(t, filetest.Config(t, "redis: {url: '"+server.URL()+"'}\n"+oneJob), "--http", "127.0.0.1:0", "--log-level", "debug")
			warned := p.await("Redis is not as it should be", "check", test.check)
			require.Equal(t, "WARN", warned["level"])
			require.Equal(t, test.result, warned["result"])
			require.Contains(t, warned["finding"], test.find)
			require.Contains(t, warned["change"], test.change)
			p.await("worker started")
			p.signal(syscall.SIGTERM)
			require.Equal(t, 0, p.exit())
			require.Len(t, p.all("Redis is not as it should be", "check", test.check), 1)
		})
	}
	t.Run("a good one", func(t *testing.T) {
		t.Parallel()
		p := start(t, filetest.Config(t, "redis: {url: '"+redistest.Start(t, redistest.WithAOF()).URL()+"'}\n"+oneJob), "--http", "127.0.0.1:0")
		p.await("tick settled")
		require.Empty(t, p.all("Redis is not as it should be"))
	})
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}
