package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/servertest"
)

func TestWorkersOnEtcdRunEachTickOnce(t *testing.T) {
	t.Parallel()
	server, err := servertest.Etcd()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	path := workertest.SettleOnce(t, "etcd://"+server.Addr(0)+"/fleets", func() {
		server.Kill()
		require.NoError(t, server.Run())
	})
	found := workertest.Diagnosed(t, path, 0)
	require.Equal(t, "1 of 1 answer", found["members"].Finding)
	require.NotEmpty(t, found["version"].Finding)
	require.Contains(t, found, "clock")

	server.Kill()
	require.Contains(t, workertest.Diagnosed(t, path, 1)["reachable"].Change, "etcd runs")
}
