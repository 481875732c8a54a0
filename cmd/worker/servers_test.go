package main

import (
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
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// asked calls every command that asks a fleet, or controls it, for a job that a worker serves.
func asked(t *testing.T, path, job string) {
	t.Helper()
	for _, args := range [][]string{
		{"status"}, {"history", job}, {"why", job}, {"trigger", job, "--wait"}, {"pause", job}, {"resume", job}, {"repair", job},
	} {
		r := workertest.Do(t, nil, append(args, "--config", path)...)
		require.Equal(t, 0, r.Code, "%s: %s%s", args[0], r.Stdout, r.Stderr)
	}
	examined(t, path, `\nfleet +(- +)?ok +\d+ live replica`)
}

// examined calls doctor until nothing fails and it prints what each pattern matches. A worker is
// ready before its first heartbeat is in the store, and on a busy machine a later one can be
// overdue.
func examined(t *testing.T, path string, patterns ...string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		r := workertest.Do(t, nil, "doctor", "--config", path)
		require.Equal(c, 0, r.Code, r.Stdout+r.Stderr)
		for _, pattern := range patterns {
			require.Regexp(c, pattern, r.Stdout)
		}
	}, workertest.Patience, 50*time.Millisecond)
}

// eachTickOnce requires that no tick was settled twice.
func eachTickOnce(t *testing.T, job string, workers ...*workertest.Process) {
	t.Helper()
	ran := map[any]any{}
	for _, p := range workers {
		for _, r := range p.All("tick settled", "job", job, "outcome", "succeeded") {
			require.NotContains(t, ran, r["tick"], "ran on both")
			ran[r["tick"]] = r["replica"]
		}
	}
}

func TestAWorkerRunsOnACluster(t *testing.T) {
	t.Parallel()
	rights, onCluster := documentedRights(t)
	app := slices.Concat([]string{"app", "on", ">secret"}, rights, onCluster, streamRights)
	c := redistest.StartCluster(t, redistest.WithConf("user", app...))
	path := filetest.Config(t, "redis: {addrs: "+workertest.List("", c.Addrs()[:2]...)+", cluster: true, username: app, password: secret}\nlease: {ttl: 2s}\n"+workertest.OneJob+streamJob[len("\njobs:\n"):])
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	asked(t, path, "hello")
	client := c.Connect(t)
	require.Eventually(t, func() bool { return client.XLen(t.Context(), "ticks").Val() >= 2 }, workertest.Patience, 10*time.Millisecond)

	warned := first.Await("Redis is not as it should be", "check", "persistence")
	require.Contains(t, warned["finding"], "no append-only file")
	require.Len(t, warned["servers"], 3, "once for all masters")
	require.Contains(t, warned["change"], "set appendonly yes")

	killed := c.FailOver((*redistest.Server).Kill)
	for _, job := range []string{"hello", "announce"} {
		before := first.Settled(job) + second.Settled(job)
		require.Eventually(t, func() bool { return first.Settled(job)+second.Settled(job) >= before+3 }, workertest.Patience, 10*time.Millisecond)
	}
	require.Contains(t, workertest.Do(t, nil, "doctor", "--config", path).Stdout, "cluster")
	killed.Restart()
	c.Settle()
	for _, p := range []*workertest.Process{first, second} {
		p.Signal(syscall.SIGTERM)
		require.Equal(t, 0, p.Exit())
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
	path := filetest.Config(t, "redis: {addrs: "+workertest.List("", w.Addrs()...)+", master: main, wait_replicas: 1, username: app, password: secret, "+
		"sentinel_username: sentinel, sentinel_password: hidden}\nlease: {ttl: 2s}\n"+workertest.OneJob+streamJob[len("\njobs:\n"):])
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	asked(t, path, "hello")

	w.Sentinels[0].Kill()
	examined(t, path, `sentinel +`+w.Sentinels[0].Addr()+` +warn +.*\n  change: check that this Sentinel runs`,
		`sentinel +`+w.Sentinels[1].Addr()+` +ok +names `+`127.0.0.1:\d+; \d usable Sentinels`,
		`persistence +127.0.0.1:\d+ +warn +no append-only file`)
	w.Sentinels[0].Restart()

	w.FailOver((*redistest.Server).Kill)
	for _, job := range []string{"hello", "announce"} {
		before := first.Settled(job) + second.Settled(job)
		require.Eventually(t, func() bool { return first.Settled(job)+second.Settled(job) >= before+3 }, workertest.Patience, 10*time.Millisecond)
	}
	for _, p := range []*workertest.Process{first, second} {
		p.Signal(syscall.SIGTERM)
		require.Equal(t, 0, p.Exit())
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
		workertest.OneJob+streamJob[len("\njobs:\n"):]+leaderJob)
	p := workertest.Start(t, path, "--http", "127.0.0.1:0", "--log-level", "debug")
	p.Ready(http.StatusOK)
	for _, job := range []string{"hello", "announce"} {
		asked(t, path, job)
		require.Eventually(t, func() bool { return p.Settled(job) >= 2 }, workertest.Patience, 10*time.Millisecond)
	}
	p.Await("output", "job", "leads", "line", "I lead")
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Exit())
	require.NotContains(t, p.Text(), "NOPERM")
	require.Empty(t, p.All("Redis is not as it should be"))
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
	path := filetest.Config(t, "redis: {quorum: "+workertest.List("redis://", addrs...)+", username: app, password: secret}\nlease: {ttl: 2s}\n"+workertest.OneJob)
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	down := first.Await("store does not answer; nothing starts until it does")
	require.Contains(t, down["hint"], "wait: a server of a quorum counts when it has remembered the namespace")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	asked(t, path, "hello")
	warned := first.Await("Redis is not as it should be", "check", "persistence")
	require.Len(t, warned["servers"], 3)

	servers[0].Kill()
	before := first.Settled("hello") + second.Settled("hello")
	require.Eventually(t, func() bool { return first.Settled("hello")+second.Settled("hello") >= before+3 }, workertest.Patience, 10*time.Millisecond)
	examined(t, path, `reachable +`+addrs[0]+` +warn +.*refused`, `majority +- +ok +2 of 3 nodes answer`, `messages +- +ok`)
	require.Eventually(t, func() bool {
		r := workertest.Do(t, nil, "status", "--config", path)
		return r.Code == 0 && strings.Contains(r.Stdout, "\nsecond ")
	}, workertest.Patience, 50*time.Millisecond)

	servers[1].Kill()
	require.Contains(t, first.Ready(http.StatusServiceUnavailable), "does not answer")
	r := workertest.Do(t, nil, "doctor", "--config", path)
	require.Equal(t, 1, r.Code, r.Stdout)
	require.Regexp(t, `majority +- +fail +.*1 of 3 nodes`, r.Stdout)
	r = workertest.Do(t, nil, "status", "--config", path)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "Redis at quorum "+strings.Join(addrs, ", "))

	servers[1].Restart()
	first.Ready(http.StatusOK)
	for _, p := range []*workertest.Process{first, second} {
		p.Signal(syscall.SIGTERM)
		require.Equal(t, 0, p.Exit())
	}
	eachTickOnce(t, "hello", first, second)
}

func TestAURLOfTheCommandLineReplacesEveryServer(t *testing.T) {
	s := newSite(t, redistest.WithAOF())
	path := filetest.Config(t, "namespace: billing\nredis: {addrs: ['127.0.0.1:1'], master: main, password: x}\n"+workertest.OneJob)
	r := workertest.Do(t, nil, "doctor", "--config", path, "--redis", s.server.URL())
	require.Equal(t, 0, r.Code, r.Stdout+r.Stderr)
	require.NotContains(t, r.Stdout, "sentinel")
}

func TestAStreamHasNoPlaceInAQuorum(t *testing.T) {
	path := filetest.Config(t, "redis: {quorum: "+workertest.List("redis://", "a", "b", "c")+"}"+streamJob)
	r := workertest.Do(t, nil, "validate", "--config", path)
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, path+":3:1: jobs[0].redis_stream: needs one Redis, and redis.quorum names several")
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
			"{quorum: " + workertest.List("redis://", plain.Addr(), inCluster.Addr(), "127.0.0.1:1") + "}",
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
			p := workertest.Start(t, filetest.Config(t, "redis: "+test.redis+"\n"+workertest.OneJob), "--http", "127.0.0.1:0")
			require.Equal(t, 2, p.Exit())
			require.Contains(t, p.Plain(), test.want)
			require.Empty(t, p.All("worker started"))
			require.Empty(t, p.All("run started"))
		})
	}
}

func TestLateClusterModeServerEndsTheWorker(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithConf("cluster-enabled", "yes"))
	server.Kill()
	p := workertest.Start(t, filetest.Config(t, "redis: {url: 'redis://"+server.Addr()+"'}\n"+workertest.OneJob), "--http", "127.0.0.1:0")
	p.Await("store does not answer; nothing starts until it does")
	p.Await("worker started")
	server.Restart()
	require.Equal(t, 2, p.Exit())
	require.Contains(t, p.Plain(), "and cluster: true instead of url")
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
			p := workertest.Start(t, filetest.Config(t, "redis: {url: '"+server.URL()+"'}\n"+workertest.OneJob), "--http", "127.0.0.1:0", "--log-level", "debug")
			warned := p.Await("Redis is not as it should be", "check", test.check)
			require.Equal(t, "WARN", warned["level"])
			require.Equal(t, test.result, warned["result"])
			require.Contains(t, warned["finding"], test.find)
			require.Contains(t, warned["change"], test.change)
			p.Await("worker started")
			p.Signal(syscall.SIGTERM)
			require.Equal(t, 0, p.Exit())
			require.Len(t, p.All("Redis is not as it should be", "check", test.check), 1)
		})
	}
	t.Run("a good one", func(t *testing.T) {
		t.Parallel()
		p := workertest.Start(t, filetest.Config(t, "redis: {url: '"+redistest.Start(t, redistest.WithAOF()).URL()+"'}\n"+workertest.OneJob), "--http", "127.0.0.1:0")
		p.Await("tick settled")
		require.Empty(t, p.All("Redis is not as it should be"))
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
