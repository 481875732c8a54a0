package main

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/zktest"
)

func TestWorkersOnZooKeeperRunEachTickOnce(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	path := filetest.Config(t, fmt.Sprintf(`
store: {url: "zk://app:s3cret@%s/fleets"}
lease: {ttl: 2s}
http: {addr: "127.0.0.1:0"}
jobs:
- {name: note, schedule: "@every 1s", misfire: all, overlap: allow, log: {message: noted}}
- {name: long, schedule: "@yearly", exec: {command: [sh, -c, 'test "$SOLOTICK_ATTEMPT" != 1 || exec sleep 60']}}
`, server.Addr()))
	killed := workertest.Start(t, path, "--replica", "a")
	killed.Await("tick settled")
	triggered := workertest.Do(t, nil, "trigger", "long", "--config", path)
	require.Equal(t, 0, triggered.Code, triggered.Stdout+triggered.Stderr)
	killed.Await("run started", "job", "long")
	other := workertest.Start(t, path, "--replica", "b")
	other.Ready(http.StatusOK)
	killed.Signal(syscall.SIGKILL)
	killed.Exit()
	other.Await("tick settled", "job", "long", "outcome", "succeeded") // it has taken the run over
	for range 2 {
		other.Await("tick settled", "job", "note", "outcome", "succeeded")
	}
	server.Restart(t)
	before := other.Settled("note")
	require.Eventually(t, func() bool { return other.Settled("note") > before }, workertest.Patience, 20*time.Millisecond)
	require.Contains(t, workertest.Do(t, nil, "status", "--config", path).Stdout, "note")
	ticks := map[any]bool{}
	for _, o := range workertest.Outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}
	found := workertest.Diagnosed(t, path, 0)
	require.Equal(t, "1 of 1 answer", found["servers"].Finding)
	require.Contains(t, found["version"].Finding, "standalone")
	require.Contains(t, found["reachable"].Finding, server.Addr())
	for _, check := range []string{"writes", "clock"} {
		require.Equal(t, doctor.OK, found[check].Result, "%s: %+v", check, found[check])
	}

	server.Kill()
	found = workertest.Diagnosed(t, path, 1)
	require.Equal(t, doctor.Fail, found["reachable"].Result)
	require.Contains(t, found["reachable"].Change, "check that the servers of ZooKeeper run")
	require.NotContains(t, other.Text(), "s3cret")
}

func TestRefusedUserOfZooKeeperEndsTheStart(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	path := func(user string) string {
		return filetest.Config(t, "store: {url: 'zk://"+user+"@"+server.Addr()+"'}\n"+workertest.OneJob)
	}
	first := workertest.Start(t, path("app:s3cret"), "--http", "127.0.0.1:0")
	first.Await("tick settled")
	r := workertest.Do(t, nil, "run", "--config", path("app:wr0ng"), "--http", "127.0.0.1:0")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "not authenticated")
	require.Contains(t, r.Stderr, "name the user that made them")
	require.NotContains(t, r.Stderr, "wr0ng")
}
