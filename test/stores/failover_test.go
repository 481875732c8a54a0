package stores

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// failingOver is a Redis whose replica takes its place: the link between them fails first, and what
// comes then is lost unless somebody waits for it.
func failingOver(name string, options ...redislease.Option) kit {
	return kit{
		name: name, successor: "to its replica, which is cut off before",
		cannot: map[string]string{
			serverFrozen: asAlone, serverKilled: asAlone, emptied: asAlone, restored: asAlone, clockStepped: asAlone,
		},
		start: func(t testing.TB) *server {
			primary := redistest.Start(t, redistest.WithConf("repl-diskless-sync-delay", "0"))
			link := proxytest.New(t, primary.Addr())
			follower := redistest.Start(t, redistest.WithReplicaOfAddr(link.Addr()))
			admin := follower.Client(t)
			require.Eventually(t, func() bool {
				role, err := admin.Do(t.Context(), "ROLE").Slice()
				return err == nil && role[0] == "slave" && role[3] == "connected"
			}, patience, 10*time.Millisecond)
			front := proxytest.New(t, primary.Addr())
			return &server{addrs: []string{front.Addr()}, failOver: func(before func()) {
				link.Cut()
				before()
				primary.Kill()
				require.NoError(t, admin.ReplicaOf(t.Context(), "NO", "ONE").Err())
				front.Move(follower.Addr())
				primary.Restart() // empty
				host, port, err := net.SplitHostPort(follower.Addr())
				require.NoError(t, err)
				require.NoError(t, primary.Client(t).ReplicaOf(t.Context(), host, port).Err())
			}}
		},
		open: func(addrs []string, namespace string) (lease.Store, error) {
			return openRedis(addrs, namespace, options...)
		},
	}
}
