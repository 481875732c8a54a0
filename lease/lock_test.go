package lease_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

func lockClaim(name string) protocol.LockClaim {
	return protocol.LockClaim{Name: name, Holder: "a", Request: protocol.NewRequest(), TTL: 15 * time.Second, Permits: 1, Limit: 1}
}

// keepLock claims a lock, and keeps it.
func keepLock(t *testing.T, k *lease.Renewer, store protocol.Store, c protocol.LockClaim, maxHold time.Duration) *lease.Lease {
	t.Helper()
	sent := steady.Now()
	a, err := store.ClaimLock(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return k.KeepLock(t.Context(), c, a, maxHold, sent)
}

// counted counts renewals of locks, and of ticks at the same time.
type counted struct {
	faulty
	lockCalls, locks, together atomic.Int64
	ticksUnderWay              atomic.Int64
}

func (s *counted) Renew(ctx context.Context, grants []protocol.Grant) []error {
	s.ticksUnderWay.Add(1)
	defer s.ticksUnderWay.Add(-1)
	return s.faulty.Renew(ctx, grants)
}

func (s *counted) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	s.lockCalls.Add(1)
	s.locks.Add(int64(len(grants)))
	time.Sleep(time.Millisecond)
	if s.ticksUnderWay.Load() > 0 {
		s.together.Add(1)
	}
	return s.faulty.RenewLocks(ctx, grants)
}

func TestTicksAndLocksShareRenewalBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 5_000
		store := new(counted)
		store.onRenew = func(_ context.Context, do func() error) error {
			time.Sleep(10 * time.Millisecond)
			return do()
		}
		k := newRenewer(t, store)
		for i := range each {
			acquire(t, k, claim(fmt.Sprintf("job-%d", i)))
			keepLock(t, k, store, lockClaim(fmt.Sprintf("lock-%d", i)), 0)
		}
		time.Sleep(30 * time.Second)
		require.Equal(t, 2*each, k.Held(), "none was lost")
		k.Close()

		require.GreaterOrEqual(t, store.locks.Load(), int64(each*30/6), "a lock is renewed about each third of its term")
		require.LessOrEqual(t, store.lockCalls.Load(), int64(5*30))
		require.LessOrEqual(t, store.renewals.Load(), int64(5*30))
		require.Greater(t, store.together.Load(), store.lockCalls.Load()/2, "neither waits for the other")
	})
}

func TestLockIsKeptUntilItIsReleased(t *testing.T) {
	for name, end := range map[string]func(*lease.Lease, context.Context) error{
		"released": (*lease.Lease).Release,
		"settled":  func(l *lease.Lease, ctx context.Context) error { return l.Settle(ctx, lease.OutcomeSucceeded) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(memlease.Store)
				k := newRenewer(t, store)
				l := keepLock(t, k, store, lockClaim("lock"), 0)
				require.Positive(t, l.Token())
				require.Zero(t, l.Tick())
				time.Sleep(time.Minute)
				requireHeld(t, l)
				require.NoError(t, l.SetAttempt(t.Context(), 2))
				require.NoError(t, end(l, t.Context()))
				require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReleased)
				v, err := store.Lock(t.Context(), "lock")
				require.NoError(t, err)
				require.Empty(t, v.Holds)
			})
		})
	}
}

func TestLockThatIsTakenAwayIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		k := newRenewer(t, store)
		c := lockClaim("lock")
		l := keepLock(t, k, store, c, 0)
		_, err := store.ForceRelease(t.Context(), "lock", l.Token())
		require.NoError(t, err)
		<-l.Context().Done()
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrLost)
		require.ErrorIs(t, l.Release(t.Context()), lease.ErrFenced)

		bounded := keepLock(t, k, store, lockClaim("lock"), 20*time.Second)
		began := time.Now()
		<-bounded.Context().Done()
		require.Equal(t, 20*time.Second, time.Since(began))
	})
}
