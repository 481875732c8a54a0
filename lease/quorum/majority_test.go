package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

// Two of three gone: the error says how many have answered, soon; and pending calls go on when one
// is back.
func TestCallsFailWithoutAMajority(t *testing.T) {
	for name, gone := range map[string]func(n *fakeNode, yes bool){
		"refuses": (*fakeNode).set, "hangs": (*fakeNode).hang,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newFakeNodes(3)
				s := openFake(t, list, quorum.WithTimeout(time.Second))
				synced(t, s, "job")
				c := claimOf("job", 100, "a", 10*time.Second)
				g := grantOf(c, claimed(t, s, protocol.Granted, c))
				settle()
				gone(list[0], true)
				gone(list[2], true)

				began := time.Now()
				_, err := s.Claim(t.Context(), claimOf("job", 101, "a", time.Second))
				require.ErrorContains(t, err, "1 of 3 nodes answered, 2 needed")
				require.LessOrEqual(t, time.Since(began), time.Second)
				err = s.Renew(t.Context(), []protocol.Grant{g})[0]
				require.ErrorContains(t, err, "1 of 3 nodes answered")
				require.NotErrorIs(t, err, protocol.ErrFenced)
				require.Error(t, s.SendHeartbeat(t.Context(), "a", nil, time.Minute))

				gone(list[2], false)
				require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
				require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
			})
		})
	}
}

// One that hangs costs no time, whichever it is.
func TestNodeThatHangsIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := range 3 {
			list := newFakeNodes(3)
			s := openFake(t, list)
			synced(t, s, "job")
			list[i].hang(true)
			began := time.Now()
			c := claimOf("job", 100, "a", 10*time.Second)
			g := grantOf(c, claimed(t, s, protocol.Granted, c))
			require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
			require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
			require.Zero(t, time.Since(began))
		}
	})
}

// Renewing and syncing many takes as many rounds as of one, up to the size of a batch; to lose a
// claim takes one.
func TestRoundsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s, other := openFake(t, list), openFake(t, list)
		rounds := func(want int, what string, f func()) {
			t.Helper()
			settle()
			before := list[1].calls
			f()
			settle()
			require.Equal(t, want, list[1].calls-before, what)
			time.Sleep(time.Second)
		}
		var names []string
		for i := range 64 {
			names = append(names, fmt.Sprint("job-", i))
		}
		rounds(3, "sync of new names", func() { synced(t, s, names...) })
		rounds(1, "sync of known names", func() { synced(t, s, names...) })
		rounds(1, "sync of names that others have made", func() { synced(t, other, names...) })
		var grants []protocol.Grant
		take := func(s protocol.Store, tick int64) {
			c := claimOf(names[0], tick, "a", 10*time.Second)
			grants = append(grants, grantOf(c, claimed(t, s, protocol.Granted, c)))
		}
		rounds(2, "claim", func() { take(s, 100) })
		for _, name := range names[1:] {
			c := claimOf(name, 100, "a", 10*time.Second)
			grants = append(grants, grantOf(c, claimed(t, s, protocol.Granted, c)))
		}
		rounds(2, "renew", func() { require.NoError(t, errors.Join(s.Renew(t.Context(), grants)...)) })
		rounds(1, "lose", func() { claimed(t, other, protocol.Held, claimOf(names[0], 100, "b", time.Second)) })
		rounds(1, "lose what is known to be held", func() { claimed(t, other, protocol.Held, claimOf(names[0], 100, "b", time.Second)) })
		rounds(2, "settle", func() { require.NoError(t, s.Settle(t.Context(), grants[0], "succeeded")) })
		rounds(1, "lose what was settled", func() { claimed(t, other, protocol.Decided, claimOf(names[0], 100, "b", time.Second)) })
		rounds(2, "claim what others had before", func() { take(other, 101) })
		rounds(2, "claim when others have changed the record", func() { take(s, 102) })
	})
}

// Many stores that contend for the same tick, over slow networks: one wins, and nobody has to give
// up.
func TestContendersGetThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(5)
		for i, n := range list {
			n.fault = func() fault { return fault{before: time.Duration(5+i) * time.Millisecond, after: 5 * time.Millisecond} }
		}
		stores := []*quorum.Store{}
		for range 8 {
			stores = append(stores, openFake(t, list))
		}
		synced(t, stores[0], "job")
		for tick := range int64(10) {
			var all sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for i, s := range stores {
				all.Go(func() {
					a, err := s.Claim(context.Background(), claimOf("job", 100+tick, fmt.Sprint("h", i), 10*time.Second))
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					if a.Status == protocol.Granted {
						won++
					}
				})
			}
			all.Wait()
			require.Equal(t, 1, won)
		}
	})
}

func TestCheckSaysWhatTheNodesSay(t *testing.T) {
	var nodes []quorum.Node
	for range 3 {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
		n, err := redislease.NewNode(client, "billing")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, errors.Join(n.Close(), client.Close())) })
		nodes = append(nodes, n)
	}
	s, err := quorum.New(nodes, "billing")
	require.NoError(t, err)

	require.ErrorContains(t, s.Check(t.Context()), "0 of 3 nodes answered, 2 needed")
	require.ErrorContains(t, s.Check(t.Context()), "; check that Redis runs")
	require.NoError(t, s.Close())
	require.ErrorContains(t, s.Check(t.Context()), "close the store when everything that uses it has ended")

	alive := openFake(t, newFakeNodes(3))
	require.NoError(t, alive.Check(t.Context()))
}
