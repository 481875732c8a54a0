package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// A fleet goes on by itself when the grace after a restart of Redis is over, and not before.
func TestRedisRestartDelaysTheFleetByTheGrace(t *testing.T) {
	t.Parallel()
	const grace = 3 * time.Second
	server := redistest.Start(t, redistest.WithAOF())
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\", failover_grace: 3s}\nlease: {ttl: 2s}\n"+workertest.OneJob)
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	settled := func() int { return len(first.All("tick settled")) + len(second.All("tick settled")) }
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	require.Eventually(t, func() bool { return settled() >= 3 }, workertest.Patience, 10*time.Millisecond)

	server.Restart()
	began, before := time.Now(), settled()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	require.Eventually(t, func() bool { // until a claim has seen it
		known := client.Get(t.Context(), "solotick:{default}:server").Val()
		replid := client.InfoMap(t.Context(), "replication").Item("Replication", "master_replid")
		return strings.HasPrefix(known, replid+" ")
	}, workertest.Patience, 10*time.Millisecond)
	require.Eventually(t, func() bool { return settled() > before+2 }, workertest.Patience, 10*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), grace)
	for _, p := range []*workertest.Process{first, second} {
		p.Ready(http.StatusOK)
	}
}

// No tick runs whose record a Redis replica may not have.
func TestNothingRunsWithoutTheRedisReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithConf("repl-diskless-sync-delay", "0"))
	replica := redistest.Start(t, redistest.WithReplicaOf(server))
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\", wait_replicas: 1}\nlease: {ttl: 3s}\n"+workertest.OneJob)
	worker := workertest.Start(t, path, "--http", "127.0.0.1:0")
	settled := func() int { return len(worker.All("tick settled")) }
	require.Eventually(t, func() bool { return settled() >= 2 }, workertest.Patience, 10*time.Millisecond)

	replica.Freeze()
	frozen := time.Now()
	client := server.Client(t)
	questions := func() int {
		stats := client.InfoMap(t.Context(), "commandstats").Item("Commandstats", "cmdstat_wait")
		n, _ := strconv.Atoi(strings.TrimPrefix(strings.Split(stats, ",")[0], "calls="))
		return n
	}
	before := questions()
	require.Eventually(t, func() bool { return questions() >= before+6 }, workertest.Patience, 10*time.Millisecond)
	for _, r := range worker.All("tick settled") {
		tick, err := time.Parse(time.RFC3339, r["tick"].(string))
		require.NoError(t, err)
		require.Less(t, tick, frozen.Add(time.Second), "it ran")
	}

	replica.Thaw()
	began := settled()
	require.Eventually(t, func() bool { return settled() >= began+2 }, workertest.Patience, 10*time.Millisecond)
}

func TestDoctorChecksTheFailoverModes(t *testing.T) {
	rights, _ := documentedRights(t)
	s := newSite(t, redistest.WithConf("repl-diskless-sync-delay", "0"),
		redistest.WithConf("user", append([]string{"app", "on", ">secret"}, but(rights, "+info")...)...))
	configured := func(keys string) {
		s.path = filetest.Config(t, fmt.Sprintf("namespace: billing\nredis: {url: %q, %s}\n%s", s.server.URL(), keys, siteJobs))
	}
	configured("wait_replicas: 1")
	f := s.diagnose(1)
	require.Equal(t, doctor.Fail, f["failover"].Result)
	require.Equal(t, "redis.wait_replicas is 1, and the primary has 0 Redis replicas: no tick can be claimed", f["failover"].Finding)
	require.Equal(t, doctor.OK, f["permissions"].Result)

	for range 2 {
		redistest.Start(t, redistest.WithReplicaOf(s.server))
	}
	require.Eventually(t, func() bool {
		return s.raw().InfoMap(t.Context(), "replication").Item("Replication", "connected_slaves") == "2"
	}, workertest.Patience, 10*time.Millisecond)
	f = s.diagnose(0)
	require.Equal(t, doctor.Warn, f["failover"].Result)
	require.Equal(t, "set redis.wait_replicas to 2, or let jobs check fencing tokens", f["failover"].Change)
	configured("wait_replicas: 2")
	f = s.diagnose(0)
	require.Equal(t, doctor.OK, f["failover"].Result)
	require.Equal(t, doctor.OK, f["replication"].Result)

	configured("failover_grace: 1m")
	f = s.diagnose(0)
	require.Equal(t, doctor.OK, f["failover"].Result)
	require.Equal(t, "no new tick is granted for 1m0s after a failover, a restart or a loss of data", f["failover"].Finding)
	f = s.diagnose(1, "--redis", strings.Replace(s.server.URL(), "redis://", "redis://app:secret@", 1))
	require.Equal(t, doctor.Fail, f["failover"].Result)
	require.Contains(t, f["failover"].Change, "let the user of redis call INFO")
}
