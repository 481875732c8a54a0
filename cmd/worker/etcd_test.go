package main

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
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
	killed := start(t, path, "--replica", "a")
	killed.await("tick settled")
	other := start(t, path, "--replica", "b")
	killed.signal(syscall.SIGKILL)
	killed.exit()
	for range 3 {
		other.await("tick settled", "outcome", "succeeded")
	}
	other.ready(http.StatusOK)
	require.Contains(t, do(t, nil, "status", "--config", path).stdout, "note")
	ticks := map[any]bool{}
	for _, o := range outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}
	found := diagnosed(t, path, 0)
	require.Equal(t, "1 of 1 answer", found["members"].Finding)
	require.NotEmpty(t, found["version"].Finding)
	require.Contains(t, found, "clock")

	server.Kill()
	require.Contains(t, diagnosed(t, path, 1)["reachable"].Change, "etcd runs")
}
