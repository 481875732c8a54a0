package lock_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestMutexHasOneHolderAndRisingTokens(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		var last int64
		for range 3 {
			h := acquire(t, p.Mutex("stock"))
			require.True(t, h.Valid())
			require.Equal(t, "stock", h.Name())
			require.Greater(t, h.Token(), last)
			last = h.Token()
			for _, other := range []*process{p, q} { // also of the same process
				_, err := other.Mutex("stock").TryAcquire(t.Context())
				held, ok := errors.AsType[*lease.HeldError](err)
				require.True(t, ok, err)
				require.Equal(t, lease.HeldError{Name: "stock", Holder: "p", Remaining: ttl}, *held)
			}
			release(t, acquire(t, q.Mutex("other"))) // is not in the way
			require.Equal(t, 1, p.Holds())
			release(t, h)
			require.False(t, h.Valid())
			require.ErrorIs(t, context.Cause(h.Context()), lease.ErrReleased)
			require.Zero(t, p.Holds())
		}
		requireFree(t, store, "stock")
	})
}

func TestFreeLockCostsOneClaimAndARelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		for _, l := range []lock.Lock{
			p.Mutex("a"), p.Mutex("b", lock.WithFairness()), p.Semaphore("c", 3), p.ReadWrite("d").Writer(), p.Reentrant("e"),
		} {
			release(t, acquire(t, l))
		}
		synctest.Wait()
		require.EqualValues(t, 5, p.link.claims.Load())
		require.EqualValues(t, 5, p.link.releases.Load())
		require.EqualValues(t, 1, p.link.listens.Load())
	})
}

func TestHoldLastsAsLongAsItIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock"))
		for range 100 {
			time.Sleep(ttl / 2)
			require.NoError(t, h.Context().Err())
			require.Greater(t, time.Until(h.Deadline()), ttl/3)
			requireHeld(t, q.Mutex("stock"))
		}
		release(t, h)
	})
}

// Who is cut off stops before anyone else can begin.
func TestAHoldIsLostBeforeAnotherIsGranted(t *testing.T) {
	for name, f := range map[string]fault{"fails": fails, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				h := acquire(t, p.Mutex("stock"))
				p.link.cut(f)
				ended := make(chan time.Time, 1)
				context.AfterFunc(h.Context(), func() { ended <- time.Now() })
				next := begin(t.Context(), q.Mutex("stock")).granted(t)
				granted := time.Now()
				at := <-ended
				require.True(t, at.Before(granted), "%s, %s", at, granted)
				require.Less(t, granted.Sub(at), time.Second)
				require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
				require.False(t, h.Valid())
				require.Greater(t, next.Token(), h.Token())

				p.link.cut(nil)
				require.Zero(t, p.Holds()) // also of holds that are never released
				require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)
				requireHeld(t, p.Mutex("stock")) // that took nothing from the other
				release(t, next)
			})
		})
	}
}

func TestReleaseAfterLossFreesUntakenLocks(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock"))
		p.link.cut(fails)
		<-h.Context().Done()
		p.link.cut(nil)
		release(t, h)
		requireFree(t, store, "stock")
	})
}

func TestReleaseTwiceIsReleaseOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock"))
		release(t, h)
		next := acquire(t, p.Mutex("stock"))
		release(t, h)
		require.True(t, next.Valid())
		require.EqualValues(t, 1, p.link.releases.Load())
		release(t, next)
	})
}

func TestReleaseWithAnEndedContextGivesBack(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		ctx, cancel := context.WithCancel(t.Context())
		h, err := p.Mutex("stock").Acquire(ctx)
		require.NoError(t, err)
		cancel()
		require.Error(t, h.Context().Err())
		require.True(t, h.Valid(), "the end of its context does not release it")
		time.Sleep(3 * ttl)
		requireHeld(t, p.Mutex("stock"))
		require.NoError(t, h.Release(ctx))
		requireFree(t, store, "stock")
	})
}

func TestReleaseThatCannotBeDoneEndsInTime(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		p.link.set(func(l *link) { l.release = hangs })
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for limit, ctx := range map[time.Duration]context.Context{time.Second: ended, ttl: t.Context()} {
			h := acquire(t, p.Mutex("stock"))
			began := time.Now()
			require.Error(t, h.Release(ctx))
			require.Equal(t, limit, time.Since(began))
			require.Error(t, h.Context().Err())
			time.Sleep(ttl)
		}
	})
}

func TestARepliesLossOnReleaseDoesNoHarm(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock"))
		p.link.set(func(l *link) { l.release = firstThen(1, losesTheReply, nil) })
		release(t, h)
		requireFree(t, store, "stock")
	})
}

func TestMaxHoldEndsARenewedHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock", lock.WithMaxHold(time.Minute)))
		began := time.Now()
		<-h.Context().Done()
		require.Equal(t, time.Minute, time.Since(began))
		lost, ok := errors.AsType[*lease.LostError](context.Cause(h.Context()))
		require.True(t, ok)
		require.Equal(t, protocol.LostMaxHold, lost.Reason)
		next := begin(t.Context(), p.Mutex("stock"))
		next.waits(t)
		release(t, h) // which gives it back at once
		synctest.Wait()
		require.True(t, next.granted(t).Valid())
		release(t, next.hold)
	})
}

func TestLocksAreShown(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h, r := acquire(t, p.Mutex("a.stock")), acquire(t, p.ReadWrite("a.book").Reader())
		free := acquire(t, p.Mutex("a.free"))
		release(t, free)
		release(t, acquire(t, p.Mutex("b")))
		ctx, giveUp := context.WithCancel(t.Context())
		w := begin(ctx, p.Mutex("a.stock"))
		w.waits(t)

		v, err := p.Inspect(t.Context(), "a.stock")
		require.NoError(t, err)
		require.Equal(t, h.Token(), v.Token)
		require.Len(t, v.Holds, 1)
		require.Equal(t, "p", v.Holds[0].Holder)
		require.Equal(t, 1, v.Waiters)
		seen := map[string]int64{}
		for cursor := ""; ; {
			locks, next, err := p.List(t.Context(), "a.", cursor, 1)
			require.NoError(t, err)
			for _, l := range locks {
				seen[l.Name] = l.Token
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		require.Equal(t, map[string]int64{"a.stock": h.Token(), "a.book": r.Token()}, seen)
		giveUp()
		<-w.done
		release(t, h)
		release(t, r)
	})
}

func TestFaultsOfALockAreReportedTogether(t *testing.T) {
	store := new(memlease.Store)
	locks := lock.New(store, lock.WithHolder("no spaces"))
	defer locks.Close()
	bad := []lock.Option{
		lock.WithTTL(0), lock.WithWaiterTTL(2 * time.Hour), lock.WithMaxHold(-1), lock.WithWaitTimeout(-1),
	}
	for _, ask := range []func(lock.Lock) error{
		func(l lock.Lock) error { _, err := l.Acquire(t.Context()); return err },
		func(l lock.Lock) error { _, err := l.TryAcquire(t.Context()); return err },
	} {
		for _, l := range []lock.Lock{locks.Mutex("/", bad...), locks.Reentrant("/", bad...), locks.ReadWrite("/", bad...).Writer()} {
			err := ask(l)
			for _, part := range []string{
				`name: "/"`, `holder: "no spaces"`, `ttl: "0s"`, `waiter ttl: "2h0m0s"`, `max hold: "-1ns"`, `wait timeout: "-1ns"`,
			} {
				require.ErrorContains(t, err, part)
			}
		}
		require.ErrorContains(t, ask(locks.Mutex("a", lock.WithWaiterTTL(0))), "waiter ttl")
		good := lock.New(store)
		require.ErrorContains(t, ask(good.Mutex("a", lock.WithWaiterTTL(0))), "waiter ttl")
		require.ErrorContains(t, ask(good.Mutex("a", lock.WithWaiterTTL(-1))), "waiter ttl")
		require.ErrorContains(t, ask(good.Semaphore("a", 0)), "permits: 0 must be from 1")
		require.ErrorContains(t, ask(good.Semaphore("a", -3)), "permits: -3 must be from 1")
		require.ErrorContains(t, ask(good.Semaphore("a", protocol.MaxPermits+1)), "limit")
		require.ErrorContains(t, ask(good.Semaphore("a", 3).Take(4)), "permits")
		require.ErrorContains(t, ask(good.Semaphore("a", 3).Take(0)), "permits")
		good.Close()
	}
}

func TestDefaultHolderIsAReadableName(t *testing.T) {
	store := new(memlease.Store)
	locks := lock.New(store)
	defer locks.Close()
	h := acquire(t, locks.Mutex("a"))
	v, err := locks.Inspect(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(v.Holds[0].Holder, "p"), v.Holds[0].Holder)
	release(t, h)
}

func TestLongestMaxHoldIsNoLimit(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock", lock.WithMaxHold(math.MaxInt64)))
		require.True(t, h.Valid())
		time.Sleep(time.Hour)
		require.True(t, h.Valid())
		release(t, h)
	})
}
