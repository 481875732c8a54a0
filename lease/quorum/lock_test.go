package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
)

var _ protocol.Store = (*quorum.Store)(nil)

// lockOf claims n permits of a lock of so many.
func lockOf(name, holder string, n, limit int, ttl time.Duration) protocol.LockClaim {
	return protocol.LockClaim{Name: name, Holder: holder, Request: holder + "-r", TTL: ttl, Permits: n, Limit: limit}
}

func inQueue(c protocol.LockClaim) protocol.LockClaim {
	c.Order, c.WaiterTTL = protocol.OrderArrival, time.Minute
	return c
}

// lockClaimed claims a lock and wants an answer of this status.
func lockClaimed(t testing.TB, s protocol.Store, want protocol.Status, c protocol.LockClaim) protocol.LockAnswer {
	t.Helper()
	a, err := s.ClaimLock(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, want.String(), a.Status.String())
	return a
}

// locked claims a lock and wants to be granted it.
func locked(t testing.TB, s protocol.Store, c protocol.LockClaim) protocol.LockGrant {
	t.Helper()
	return c.Grant(lockClaimed(t, s, protocol.Granted, c))
}

// A holder whose clock is slower than the nodes' still has its TTL: others are granted the lock a
// drift later, and Left says so.
func TestLockIsKeptForItsDrift(t *testing.T) {
	const ttl, drift = 20 * time.Second, 202 * time.Millisecond
	outlasts := func(t *testing.T, s protocol.Store, other func() protocol.LockClaim) protocol.LockAnswer {
		t.Helper()
		time.Sleep(ttl)
		require.Equal(t, drift, lockClaimed(t, s, protocol.Held, other()).Remaining)
		time.Sleep(drift)
		return lockClaimed(t, s, protocol.Granted, other())
	}
	for _, limit := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := openFake(t, newFakeNodes(3))
			a := lockClaimed(t, s, protocol.Granted, lockOf("l", "a", limit, limit, ttl))
			b := outlasts(t, s, func() protocol.LockClaim { return lockOf("l", "b", 1, limit, ttl) })
			require.Greater(t, b.Token, a.Token)
			require.Len(t, b.Lost, 1)
			require.Equal(t, a.Token, b.Lost[0].Token)
		})
	}
	synctest.Test(t, func(t *testing.T) { // of another TTL since it was renewed
		s := openFake(t, newFakeNodes(3))
		c := lockOf("l", "a", 1, 1, time.Second)
		g := locked(t, s, c)
		g.TTL = ttl
		require.NoError(t, s.RenewLocks(t.Context(), []protocol.LockGrant{g})[0])
		outlasts(t, s, func() protocol.LockClaim { return lockOf("l", "b", 1, 1, time.Second) })
	})
}

// Leases and places in the queue last as long as they should whichever of the nodes answer, though
// their clocks are minutes apart.
func TestLocksLastTheirTTLThoughClocksDiffer(t *testing.T) {
	const ttl, drift = 10 * time.Second, 102 * time.Millisecond
	for gone := range 3 {
		t.Run(fmt.Sprint("without node ", gone), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newFakeNodes(3)
				list[0].offset, list[2].offset = 3*time.Minute, -4*time.Minute
				s := openFake(t, list)
				c := lockOf("l", "a", 1, 2, ttl)
				g := locked(t, s, c)
				both, ticket := inQueue(lockOf("l", "b", 2, 2, ttl)), inQueue(lockOf("l", "c", 1, 2, ttl))
				ticket.WaiterTTL = ttl
				for range 4 { // others change the lock, or look at it, and neither lengthen nor shorten anything
					settle()
					list[gone].set(false)
					gone = (gone + 1) % 3
					list[gone].set(true)
					lockClaimed(t, s, protocol.Queued, both)
					lockClaimed(t, s, protocol.Queued, ticket)
					time.Sleep(ttl - 100*time.Millisecond)
					settle()
					list[gone].set(false)
					gone = (gone + 1) % 3
					list[gone].set(true)
					v, err := s.Lock(t.Context(), "l")
					require.NoError(t, err)
					require.Equal(t, 100*time.Millisecond+drift, v.Holds[0].Remaining)
					require.Equal(t, 2, v.Waiters)
					require.Equal(t, 100*time.Millisecond, v.Queue[1].Remaining)
					require.NoError(t, s.RenewLocks(t.Context(), []protocol.LockGrant{g})[0])
				}
				time.Sleep(100 * time.Millisecond)
				v, err := s.Lock(t.Context(), "l")
				require.NoError(t, err)
				require.Equal(t, 1, v.Waiters)
				time.Sleep(ttl - 100*time.Millisecond)
				lockClaimed(t, s, protocol.Queued, both)
				time.Sleep(drift)
				lockClaimed(t, s, protocol.Granted, both)
			})
		})
	}
}

// A node that is quick to promise, and whose answer is slow, takes the spans of a value from those
// that were asked later: it has not measured them, and must not shorten them.
func TestSlowAnswersDoNotShortenLeases(t *testing.T) {
	const ttl = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		_, _, err := s.Time(t.Context())
		require.NoError(t, err)
		list[2].set(true)
		granted := time.Now()
		lockClaimed(t, s, protocol.Granted, lockOf("l", "a", 1, 1, ttl))
		list[2].set(false)
		settle()
		list[0].set(true)
		list[1].meet(func() fault { return fault{before: 300 * time.Millisecond} })
		list[2].meet(func() fault { return fault{after: 300 * time.Millisecond} })
		lockClaimed(t, s, protocol.Queued, inQueue(lockOf("l", "b", 1, 1, ttl)))
		list[0].set(false)
		list[2].meet(nil)
		list[1].set(true)
		v, err := s.Lock(t.Context(), "l")
		require.NoError(t, err)
		require.GreaterOrEqual(t, v.Holds[0].Remaining, ttl-time.Since(granted))
	})
}

func TestWatchAndListenReceiveTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		synced(t, s, "job")
		list[0].set(true)
		var watched, listened recorder
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- s.Watch(ctx, watched.wake) }()
		go func() {
			done <- s.Listen(ctx, func(name string, requests []string) {
				listened.add(fmt.Sprint(name, " ", strings.Join(requests, ",")))
			})
		}()
		settle()
		require.Len(t, watched.take(), 2)
		require.Equal(t, []string{" ", " "}, listened.take())

		c := lockOf("job", "a", 2, 2, 20*time.Second)
		g := locked(t, s, c)
		lockClaimed(t, s, protocol.Queued, inQueue(lockOf("job", "b", 1, 2, 20*time.Second)))
		lockClaimed(t, s, protocol.Queued, inQueue(lockOf("job", "c", 1, 2, 20*time.Second)))
		settle()
		require.Empty(t, listened.take())
		require.NoError(t, s.ReleaseLock(t.Context(), g))
		settle()
		require.Equal(t, []string{"job b-r,c-r"}, listened.take()) // once, though two nodes pass it on
		require.Empty(t, watched.take())
		_, err := s.Pause(t.Context(), "job", protocol.Pause{By: "ops"})
		require.NoError(t, err)
		settle()
		require.Len(t, watched.take(), 1)
		require.Empty(t, listened.take())
		for _, foreign := range []string{"job 7 x", "lock:job 7 b-r", "x", "x {", "! job"} { // by another program or release
			require.NoError(t, list[1].Publish(t.Context(), foreign))
		}
		settle()
		require.Empty(t, listened.take())
		require.Empty(t, watched.take())

		list[1].set(true)
		list[2].set(true)
		settle()
		require.Error(t, s.ReleaseLock(t.Context(), lockOf("job", "b", 1, 2, 20*time.Second).Grant(protocol.LockAnswer{})))
		settle()
		require.Empty(t, listened.take()) // nobody is notified of an uncertain change
		cancel()
		for range 2 {
			require.ErrorIs(t, <-done, context.Canceled)
		}
	})
}

func TestListenEndsWhenNoNodeIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		for _, n := range list {
			n.set(true)
		}
		require.ErrorIs(t, s.Listen(t.Context(), func(string, []string) {}), errDown)
	})
}

// What a lock costs, with nobody in the way; in doc.go and docs/locks.md.
func TestRoundsOfLocksAreFew(t *testing.T) {
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
		}
		a, b := lockOf("l", "a", 1, 1, 20*time.Second), inQueue(lockOf("l", "b", 1, 1, 20*time.Second))
		var g protocol.LockGrant
		grant := func(s protocol.Store, c protocol.LockClaim) { g = locked(t, s, c) }
		rounds(3, "try", func() { grant(s, a) })
		rounds(1, "lose", func() { lockClaimed(t, other, protocol.Held, lockOf("l", "c", 1, 1, 20*time.Second)) })
		rounds(2, "enter the line", func() { lockClaimed(t, other, protocol.Queued, b) })
		for range 2 {
			time.Sleep(time.Second)
			rounds(2, "stay in line", func() { lockClaimed(t, other, protocol.Queued, b) })
			time.Sleep(time.Millisecond)
			rounds(2, "renew", func() { require.NoError(t, s.RenewLocks(t.Context(), []protocol.LockGrant{g})[0]) })
		}
		time.Sleep(time.Millisecond)
		rounds(2+1, "release and tell", func() { require.NoError(t, s.ReleaseLock(t.Context(), g)) })
		time.Sleep(time.Millisecond)
		rounds(2, "whose turn it is", func() { grant(other, b) })
		rounds(2, "release", func() { require.NoError(t, other.ReleaseLock(t.Context(), g)) })
		rounds(2, "acquire by turns", func() { grant(other, b) })
		rounds(1, "look", func() { _, _ = s.Lock(t.Context(), "l") })
		rounds(3, "acquire by turns what is new", func() { lockClaimed(t, s, protocol.Granted, inQueue(lockOf("new", "a", 1, 2, 20*time.Second))) })
		lockClaimed(t, s, protocol.Queued, inQueue(lockOf("new", "c", 2, 2, 20*time.Second)))
		rounds(3, "acquire by turns what only others knew", func() {
			lockClaimed(t, other, protocol.Queued, inQueue(lockOf("new", "b", 1, 2, 20*time.Second)))
		})

		grants, held := []protocol.Grant(nil), []protocol.LockGrant{g}
		for i := range 500 {
			synced(t, s, fmt.Sprint("job-", i))
			c := claimOf(fmt.Sprint("job-", i), 100, "a", 20*time.Second)
			grants = append(grants, grantOf(c, claimed(t, s, protocol.Granted, c)))
			held = append(held, locked(t, s, lockOf(fmt.Sprint("job-", i), "a", 1, 2, 20*time.Second)))
		}
		time.Sleep(time.Second)
		rounds(2, "renew ticks", func() { require.NoError(t, errors.Join(s.Renew(t.Context(), grants)...)) })
		rounds(2, "renew locks", func() { require.NoError(t, errors.Join(s.RenewLocks(t.Context(), held)...)) })
	})
}
