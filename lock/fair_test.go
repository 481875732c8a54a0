package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestFairLockIsGrantedByArrival(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock", lock.WithFairness()))
		var order, want []string
		var waiting []*acquisition
		for i := range 12 {
			holder := fmt.Sprintf("q%d", i)
			q := p // some of one process, some each of its own
			if i%3 > 0 {
				q = start(t, store, holder)
			} else {
				holder = "p"
			}
			want = append(want, holder)
			w := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
			w.waits(t)
			waiting = append(waiting, w)
			time.Sleep(rand.N(2 * time.Second))
		}
		for range waiting {
			_, err := p.Mutex("stock", lock.WithFairness()).TryAcquire(t.Context()) // does not push in
			require.ErrorIs(t, err, lease.ErrHeld)
			release(t, h)
			synctest.Wait()
			v, err := p.Inspect(t.Context(), "stock")
			require.NoError(t, err)
			require.Len(t, v.Holds, 1)
			order = append(order, v.Holds[0].Holder)
			h = waiting[len(order)-1].granted(t)
			require.Equal(t, v.Holds[0].Token, h.Token())
			time.Sleep(time.Second)
		}
		release(t, h)
		require.Equal(t, want, order)
		requireFree(t, store, "stock")
	})
}

// The position of a waiter that has died is kept until its TTL ends, and not a moment longer than a
// claim takes.
func TestDeadWaiterDelaysTheQueueByItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, dead, q := start(t, store, "p"), start(t, store, "dead"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", lock.WithFairness()))
		ctx, die := context.WithCancel(t.Context())
		defer die()
		first := begin(ctx, dead.Mutex("stock", lock.WithFairness()))
		first.waits(t)
		second := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
		time.Sleep(time.Minute)
		second.waits(t)

		dead.link.cut(hangs)
		dead.link.hangUp(errDown)
		v, err := store.Lock(t.Context(), "stock")
		require.NoError(t, err)
		require.Equal(t, "dead", v.Queue[0].Holder)
		remaining := v.Queue[0].Remaining
		require.Greater(t, remaining, ticket-soon-time.Millisecond)
		release(t, h)
		released := time.Now()
		next := second.granted(t)
		delay := time.Since(released)
		require.GreaterOrEqual(t, delay, remaining)
		require.Less(t, delay, remaining+25*time.Millisecond)
		release(t, next)
	})
}

func TestDeadWaiterDelaysTheQueueByAShorterTTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, dead, q := start(t, store, "p"), start(t, store, "dead"), start(t, store, "q")
		short := []lock.Option{lock.WithFairness(), lock.WithTTL(1500 * time.Millisecond)}
		h := acquire(t, p.Mutex("stock", short...))
		ctx, die := context.WithCancel(t.Context())
		defer die()
		first := begin(ctx, dead.Mutex("stock", short...))
		first.waits(t)
		second := begin(t.Context(), q.Mutex("stock", short...))
		second.waits(t)
		dead.link.cut(hangs)
		release(t, h)
		released := time.Now()
		release(t, second.granted(t))
		require.Less(t, time.Since(released), 1500*time.Millisecond+25*time.Millisecond)
	})
}

// Without fairness a waiter waits for a dead one only until its own next claim.
func TestDeadWaiterDelaysOthersByThirdOfTTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, dead, q := start(t, store, "p"), start(t, store, "dead"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock"))
		ctx, die := context.WithCancel(t.Context())
		defer die()
		first := begin(ctx, dead.Mutex("stock"))
		first.waits(t)
		second := begin(t.Context(), q.Mutex("stock"))
		second.waits(t)
		dead.link.cut(hangs)
		release(t, h)
		released := time.Now()
		release(t, second.granted(t))
		require.LessOrEqual(t, time.Since(released), soon)
	})
}

// A waiter that freezes after its notification loses its position, and comes back as the last.
func TestWaiterFrozenAfterItsNotificationIsPassed(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, frozen, q := start(t, store, "p"), start(t, store, "frozen"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", lock.WithFairness()))
		first := begin(t.Context(), frozen.Mutex("stock", lock.WithFairness()))
		first.waits(t)
		second := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
		second.waits(t)
		frozen.link.set(func(l *link) {
			l.claim = firstThen(1, func(_ context.Context, do func() error) error {
				time.Sleep(2 * ticket) // and then it goes on as if nothing had happened
				return do()
			}, nil)
		})
		release(t, h)
		next := second.granted(t)
		time.Sleep(2 * ticket)
		first.waits(t)
		require.True(t, next.Valid())
		release(t, next)
		release(t, first.granted(t))
		requireFree(t, store, "stock")
	})
}

// A holder that dies delays the head of the queue by its lease, and nobody by more.
func TestADeadHolderDelaysByItsLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", lock.WithFairness()))
		p.link.cut(fails)
		died := time.Now()
		w := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
		next := w.granted(t)
		require.GreaterOrEqual(t, time.Since(died), ttl)
		require.Less(t, time.Since(died), ttl+25*time.Millisecond)
		require.Error(t, h.Context().Err())
		release(t, next)
	})
}

func TestFairWaitersAreServedUnderFaults(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		const waiters = 200
		served := make(chan int, waiters)
		for i := range waiters {
			ctx := t.Context()
			if i%4 == 0 { // gives up
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, rand.N(20*time.Second))
				defer cancel()
			}
			w := begin(ctx, p.Mutex("stock", lock.WithFairness()))
			go func() {
				defer func() { served <- i }()
				if <-w.done; w.err == nil {
					time.Sleep(rand.N(200 * time.Millisecond))
					_ = w.hold.Release(ctx)
				}
			}()
		}
		began := time.Now()
		for range waiters {
			<-served
		}
		require.Less(t, time.Since(began), waiters*time.Second/5)
		synctest.Wait()
		requireFree(t, store, "stock")
	})
}
