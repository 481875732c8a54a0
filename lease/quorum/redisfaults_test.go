package quorum_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/quorum"
)

// bounded fails when f takes so long as if it waited for a node's timeout.
func bounded(t *testing.T, most time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	require.Less(t, time.Since(began), most)
}

// A server is frozen, killed, black-holed and restarted empty, one after another, and then a second
// one.
func TestServersThatDie(t *testing.T) {
	servers := startServers(t, 3)
	hole := proxytest.New(t, servers[2].Addr())
	s := openAddrs(t, []string{servers[0].Addr(), servers[1].Addr(), hole.Addr()}, quorum.WithTimeout(3*time.Second))
	synced(t, s, "job")
	tick := int64(100)
	works := func() { // in much less than the timeout of a node
		t.Helper()
		bounded(t, 900*time.Millisecond, func() {
			tick++
			c := claimOf("job", tick, "a", 20*time.Second)
			g := grantOf(c, claimed(t, s, protocol.Granted, c))
			require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
			claimed(t, s, protocol.Held, claimOf("job", tick, "b", time.Second))
			require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
			claimed(t, s, protocol.Decided, claimOf("job", tick, "b", time.Second))
		})
		bounded(t, 900*time.Millisecond, func() {
			c := inQueue(lockOf("lock", "a", 1, 1, 20*time.Second))
			l := locked(t, s, c)
			lockClaimed(t, s, protocol.Queued, inQueue(lockOf("lock", "b", 1, 1, time.Second)))
			require.NoError(t, s.RenewLocks(t.Context(), []protocol.LockGrant{l})[0])
			require.NoError(t, s.ReleaseLock(t.Context(), l))
			l.Holder, l.Request, l.Token = "b", "b-r", 0
			require.NoError(t, s.ReleaseLock(t.Context(), l)) // leaves the queue
		})
	}
	works()
	servers[0].Freeze()
	works()
	servers[0].Thaw()
	works()
	hole.Partition()
	works()
	hole.Heal()
	works()
	servers[1].Kill()
	works()

	c := claimOf("job", tick+1, "a", 20*time.Second)
	g := grantOf(c, claimed(t, s, protocol.Granted, c))
	servers[0].Freeze()
	var short *quorum.MajorityError
	bounded(t, 4*time.Second, func() { require.ErrorAs(t, s.Renew(t.Context(), []protocol.Grant{g})[0], &short) })
	require.Equal(t, 1, short.Answered)
	servers[0].Thaw()
	require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])

	servers[1].Restart() // empty
	servers[0].Kill()
	require.Eventually(t, func() bool {
		_, err := s.Claim(t.Context(), claimOf("job", tick+1, "b", time.Second))
		require.ErrorAs(t, err, &short)
		return short.Restarted == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 1, short.Answered)
	require.ErrorIs(t, short, quorum.ErrRestarted)
	require.Greater(t, short.Wait, 20*time.Second)
}

// A node whose memory is full refuses claims; leases that are held can be renewed, settled and
// released.
func TestHeldLeasesRenewAndSettleInFullMemory(t *testing.T) {
	servers := startServers(t, 3)
	s := openRedis(t, servers)
	synced(t, s, "job")
	c := claimOf("job", 100, "a", 20*time.Second)
	g := grantOf(c, claimed(t, s, protocol.Granted, c))
	l := locked(t, s, lockOf("lock", "a", 1, 2, 20*time.Second))
	for _, srv := range servers[:2] {
		require.NoError(t, srv.Client(t).ConfigSet(t.Context(), "maxmemory", "1").Err())
	}
	_, err := s.Claim(t.Context(), claimOf("job", 101, "a", time.Second))
	require.ErrorContains(t, err, "OOM")
	_, err = s.ClaimLock(t.Context(), lockOf("lock", "b", 1, 2, time.Second))
	require.ErrorContains(t, err, "OOM")
	require.NoError(t, s.RenewLocks(t.Context(), []protocol.LockGrant{l})[0])
	require.NoError(t, s.ReleaseLock(t.Context(), l))
	require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	claimed(t, s, protocol.Decided, claimOf("job", 100, "a", time.Second))
}

// Stores of several processes contend, and the token rises.
func TestManyStoresOnRedis(t *testing.T) {
	servers := startServers(t, 3)
	var stores []*quorum.Store
	for range 4 {
		stores = append(stores, openRedis(t, servers, quorum.WithTimeout(10*time.Second)))
	}
	synced(t, stores[0], "job")
	token := int64(0)
	for tick := range int64(20) {
		var mu sync.Mutex
		var won []protocol.Grant
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() {
				c := claimOf("job", 100+tick, string(rune('a'+i)), 20*time.Second)
				a, err := s.Claim(t.Context(), c)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				} else if a.Status == protocol.Granted {
					won = append(won, grantOf(c, a))
				}
			})
		}
		all.Wait()
		require.Len(t, won, 1)
		require.Greater(t, won[0].Token, token)
		token = won[0].Token
		require.NoError(t, stores[tick%4].Settle(t.Context(), won[0], "succeeded"))
	}
}

func TestRegistersTakeManyAtOnce(t *testing.T) {
	s := openRedis(t, []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)})
	var names []string
	for i := range 300 {
		names = append(names, "job-"+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	synced(t, s, names...)
	records, err := s.Sync(t.Context(), []protocol.Sync{{Name: names[0]}, {Name: names[299]}, {Name: names[0]}})
	require.NoError(t, err)
	require.Equal(t, []string{names[0], names[299], names[0]}, []string{records[0].Name, records[1].Name, records[2].Name})
	require.False(t, records[1].Made)
}
