package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/zktest"
)

func TestWorkersOnZooKeeperRunEachTickOnce(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t)
	path := workertest.SettleOnce(t, "zk://app:s3cret@"+server.Addr()+"/fleets", func() { server.Restart(t) })
	found := workertest.Diagnosed(t, path, 0)
	require.Equal(t, "1 of 1 answer", found["servers"].Finding)
	require.Contains(t, found["version"].Finding, "standalone")
	require.Contains(t, found["reachable"].Finding, server.Addr())
	for _, check := range []string{"writes", "clock"} {
		require.Equal(t, doctor.OK, found[check].Result, "%s: %+v", check, found[check])
	}

	server.Kill()
	require.Contains(t, workertest.Diagnosed(t, path, 1)["reachable"].Change, "check that the servers of ZooKeeper run")
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
