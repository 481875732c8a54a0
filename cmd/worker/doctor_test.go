package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// diagnose runs doctor and returns its findings by check. The test fails unless doctor exits with
// code.
func (s *site) diagnose(code int, args ...string) map[string]doctor.Finding {
	s.Helper()
	var x doctor.Report
	r := s.ask(append([]string{"doctor", "--output", "json"}, args...)...)
	require.Equal(s, code, r.Code, r.Stdout+r.Stderr)
	require.NoError(s, json.Unmarshal([]byte(r.Stdout), &x))
	require.Equal(s, code == 0, x.OK)
	require.Equal(s, "billing", x.Namespace)
	found := map[string]doctor.Finding{}
	for _, f := range x.Checks {
		found[f.Check] = f
		require.NotContains(s, []doctor.Result{doctor.Warn, doctor.Fail}, map[bool]doctor.Result{true: f.Result}[f.Change == ""], "%s says what to change", f.Check)
	}
	return found
}

func TestDoctorPassesAGoodRedis(t *testing.T) {
	s := newSite(t, redistest.WithAOF())
	r := s.ask("doctor")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Empty(t, r.Stderr)
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	require.Equal(t, []string{"CHECK", "RESULT", "FINDING"}, strings.Fields(lines[0]))
	var checks []string
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		require.Equal(t, "ok", f[1], line)
		checks = append(checks, f[0])
	}
	require.Equal(t, []string{
		"reachable", "version", "mode", "replication", "eviction", "memory", "persistence", "clock", "permissions", "messages", "fleet", "kept",
	}, checks)

	keys, err := s.raw().Keys(t.Context(), "*doctor-*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		left, err := s.raw().PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.LessOrEqual(t, left, time.Second, key)
	}
	members, err := s.store.Members(t.Context())
	require.NoError(t, err)
	require.Empty(t, members)
}

func TestDoctorNamesTheChange(t *testing.T) {
	for name, test := range map[string]struct {
		conf   []redistest.Option
		config map[string]string
		code   int
		check  string
		result doctor.Result
		find   string
		change string
	}{
		"a cache": {
			config: map[string]string{"maxmemory": "64mb", "maxmemory-policy": "allkeys-lru"}, code: 1,
			check: "eviction", result: doctor.Fail, find: "maxmemory-policy is allkeys-lru: Redis evicts records of jobs when memory runs out", change: "set maxmemory-policy noeviction",
		},
		"a cache without a limit": {
			config: map[string]string{"maxmemory-policy": "volatile-ttl"},
			check:  "eviction", result: doctor.Warn, find: "volatile-ttl", change: "set maxmemory-policy noeviction",
		},
		"little memory left": {
			config: map[string]string{"maxmemory": "MOST"},
			check:  "memory", result: doctor.Warn, find: "of maxmemory", change: "raise maxmemory",
		},
		"no memory left": {
			config: map[string]string{"maxmemory": "1mb"}, code: 1,
			check: "memory", result: doctor.Fail, find: "of maxmemory 1.0 MiB used", change: "raise maxmemory: no tick can be claimed",
		},
		"no memory left, calls": {
			config: map[string]string{"maxmemory": "1mb"}, code: 1,
			check: "permissions", result: doctor.Fail, find: "OOM", change: "raise maxmemory",
		},
		"nothing kept": {
			check: "persistence", result: doctor.Warn, find: "no persistence: a restart loses all records", change: "set appendonly yes",
		},
		"snapshots": {
			config: map[string]string{"save": "3600 1"},
			check:  "persistence", result: doctor.Warn, find: "snapshots only (save 3600 1)", change: "set appendonly yes",
		},
		"append-only": {
			config: map[string]string{"appendonly": "yes"},
			check:  "persistence", result: doctor.OK, find: "append-only file: a crash of the machine loses a second at most", change: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, test.conf...)
			client := s.raw()
			for key, value := range test.config {
				if value == "MOST" {
					require.NoError(t, client.SetRange(t.Context(), "much", 32<<20, "x").Err()) // beside which connections are little
					used, err := strconv.Atoi(client.InfoMap(t.Context(), "memory").Item("Memory", "used_memory"))
					require.NoError(t, err)
					value = strconv.Itoa(used * 10 / 9)
				}
				require.NoError(t, client.ConfigSet(t.Context(), key, value).Err())
			}
			f := s.diagnose(test.code)[test.check]
			require.Equal(t, test.result, f.Result, f.Finding)
			require.Contains(t, f.Finding, test.find)
			require.Contains(t, f.Change, test.change)
		})
	}
}

func TestDoctorKnowsAReplicaAndItsPrimary(t *testing.T) {
	primary := newSite(t)
	replica := newSite(t)
	host, port, _ := strings.Cut(primary.server.Addr(), ":")
	require.NoError(t, replica.raw().ReplicaOf(t.Context(), host, port).Err())
	require.Eventually(t, func() bool {
		return primary.raw().InfoMap(t.Context(), "replication").Item("Replication", "connected_slaves") == "1"
	}, workertest.Patience, 50*time.Millisecond)

	f := replica.diagnose(1)
	require.Equal(t, doctor.Fail, f["replication"].Result)
	require.Contains(t, f["replication"].Finding, "this is a Redis replica of "+primary.server.Addr())
	require.Equal(t, doctor.Fail, f["permissions"].Result)

	f = primary.diagnose(0)
	require.Equal(t, doctor.Warn, f["replication"].Result)
	require.Contains(t, f["replication"].Change, "min-replicas-to-write to 1")
	require.NoError(t, primary.raw().ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	good := func() bool {
		return primary.raw().InfoMap(t.Context(), "replication").Item("Replication", "min_slaves_good_slaves") == "1"
	}
	require.Eventually(t, good, workertest.Patience, 50*time.Millisecond)
	require.Equal(t, doctor.OK, primary.diagnose(0)["replication"].Result)

	require.NoError(t, primary.raw().ConfigSet(t.Context(), "min-replicas-to-write", "2").Err())
	f = primary.diagnose(1)
	require.Equal(t, doctor.Fail, f["replication"].Result)
	require.Contains(t, f["replication"].Finding, "min-replicas-to-write is 2")
	require.Contains(t, f["permissions"].Change, "start the replicas of Redis that are away")
}

func TestDoctorKnowsAServerOfACluster(t *testing.T) {
	s := newSite(t, redistest.WithConf("cluster-enabled", "yes"))
	f := s.diagnose(1)["mode"]
	require.Equal(t, doctor.Fail, f.Result)
	require.Contains(t, f.Finding, "Cluster mode")
}

// documentedRights are those that operations.md says are needed by everything, and on a Cluster
// besides.
func documentedRights(t *testing.T) (all, cluster []string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)## Rights.*?```\\n(.*?)```.*?a Redis Cluster \\| `(.*?)`").FindStringSubmatch(string(doc))
	require.NotNil(t, found)
	return strings.Fields(found[1]), strings.Fields(strings.ReplaceAll(found[2], "\\", ""))
}

// but are the rights without some.
func but(rights []string, without ...string) []string {
	return slices.DeleteFunc(slices.Clone(rights), func(r string) bool { return slices.Contains(without, r) })
}

func TestDoctorSeparatesMissingRightsFromUncheckedOnes(t *testing.T) {
	user := func(rights ...string) redistest.Option {
		return redistest.WithConf("user", append([]string{"app", "on", ">secret"}, rights...)...)
	}
	as := func(s *site) []string {
		return []string{"--redis", strings.Replace(s.server.URL(), "redis://", "redis://app:secret@", 1)}
	}
	documentedRights, _ := documentedRights(t)
	s := newSite(t, user(but(documentedRights, "+info")...))
	f := s.diagnose(0, as(s)...)
	for _, check := range []string{"replication", "eviction", "memory", "persistence"} {
		require.Equal(t, doctor.Unchecked, f[check].Result, check)
		require.Contains(t, f[check].Change, "let the user of redis call INFO")
	}
	for _, check := range []string{"reachable", "version", "mode", "clock", "permissions", "messages"} {
		require.Equal(t, doctor.OK, f[check].Result, f[check].Finding)
	}

	s = newSite(t, user(append(documentedRights, "-@pubsub")...))
	f = s.diagnose(0, as(s)...)
	require.Equal(t, doctor.Warn, f["messages"].Result)
	require.Contains(t, f["messages"].Change, "+subscribe")
	require.Equal(t, doctor.OK, f["permissions"].Result)
	require.Equal(t, doctor.OK, f["eviction"].Result)
	require.Contains(t, f["persistence"].Finding, "no append-only file")

	for _, missing := range []string{"-@scripting", "resetkeys"} {
		s = newSite(t, user(append(documentedRights, missing)...))
		f = s.diagnose(1, as(s)...)
		require.Equal(t, doctor.Fail, f["permissions"].Result, missing)
		require.Contains(t, f["permissions"].Finding, "NOPERM")
		require.Contains(t, f["permissions"].Change, "let the user of redis do")
	}

	s = newSite(t, redistest.WithConf("requirepass", "secret"))
	r := s.ask("doctor", "--redis", "redis://:wrong@"+s.server.Addr())
	require.Equal(t, 1, r.Code)
	require.Regexp(t, `reachable  fail .*\n  change: check the user and the password in redis.(url|username and redis.password)\n`, r.Stdout)
}

func TestDoctorChecksThisMachinesClock(t *testing.T) {
	s := newSite(t)
	f := s.diagnose(0)["clock"]
	require.Equal(t, doctor.OK, f.Result)
	require.Contains(t, f.Finding, "this machine's")
}
