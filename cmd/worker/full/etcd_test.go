package main

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/servertest"
)

func TestWorkersOnEtcdRunEachTickOnce(t *testing.T) {
	t.Parallel()
	server, err := servertest.Etcd()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	path := filetest.Config(t, fmt.Sprintf(`
store: {url: "etcd://%s/fleets"}
lease: {ttl: 2s}
http: {addr: "127.0.0.1:0"}
jobs:
- {name: note, schedule: "@every 1s", misfire: all, overlap: allow, log: {message: noted}}
`, server.Addr(0)))
	killed := workertest.Start(t, path, "--replica", "a")
	killed.Await("tick settled")
	other := workertest.Start(t, path, "--replica", "b")
	killed.Signal(syscall.SIGKILL)
	killed.Exit()
	for range 3 {
		other.Await("tick settled", "outcome", "succeeded")
	}
	other.Ready(http.StatusOK)
	require.Contains(t, workertest.Do(t, nil, "status", "--config", path).Stdout, "note")
	ticks := map[any]bool{}
	for _, o := range workertest.Outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}
	found := workertest.Diagnosed(t, path, 0)
	require.Equal(t, "1 of 1 answer", found["members"].Finding)
	require.NotEmpty(t, found["version"].Finding)
	require.Contains(t, found, "clock")

	server.Kill()
	require.Contains(t, workertest.Diagnosed(t, path, 1)["reachable"].Change, "etcd runs")
}
