package quorum_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

var _ quorum.Node = (*redislease.Node)(nil)

func TestStoreOnRedis(t *testing.T) {
	servers, ahead := startServers(t, 3, redistest.WithClock()), time.Duration(0)
	s := openRedis(t, servers, quorum.WithTTL(time.Hour))
	leasetest.Run(t, func(*testing.T) protocol.Store { return s },
		leasetest.Within(func(t *testing.T, f func(*testing.T)) { ofAllNodes(t); f(t) }),
		leasetest.WithTTL(120*time.Millisecond), // of which a fourth is in doubt when the nodes are slow
		leasetest.WithForget(func(t *testing.T, _ protocol.Store) {
			quorum.Idle(s)
			for _, srv := range servers {
				srv.Flush()
			}
			_, _, err := s.Time(t.Context()) // none counts, so all are asked
			require.ErrorIs(t, err, quorum.ErrRestarted)
			quorum.EndQuarantine(s)
		}),
		leasetest.WithClockStep(func(_ *testing.T, _ protocol.Store, d time.Duration) {
			ahead += d
			for _, srv := range servers {
				srv.SetClock(ahead)
			}
		}))
}

func startServers(t testing.TB, n int, opts ...redistest.Option) (list []*redistest.Server) {
	for range n {
		list = append(list, redistest.Start(t, opts...))
	}
	return list
}

// openRedis makes a store over servers that are new, and closes it with the test.
func openRedis(t testing.TB, servers []*redistest.Server, opts ...quorum.Option) *quorum.Store {
	t.Helper()
	var addrs []string
	for _, srv := range servers {
		addrs = append(addrs, srv.Addr())
	}
	return openAddrs(t, addrs, opts...)
}

func openAddrs(t testing.TB, addrs []string, opts ...quorum.Option) *quorum.Store {
	t.Helper()
	var nodes []quorum.Node
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		node, err := redislease.NewNode(client, "default")
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, node.Close())
			require.NoError(t, client.Close())
		})
		nodes = append(nodes, node)
	}
	s, err := quorum.New(nodes, "default", append([]quorum.Option{quorum.WithFreshStart()}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
