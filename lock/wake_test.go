package lock_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// waitingStore keeps waiters from asking of their own accord while a test counts.
var waitingStore = []lock.Option{lock.WithWaiterTTL(time.Hour), lock.WithTTL(time.Hour)}

// sendHold acquires in a goroutine of its own.
func sendHold(t *testing.T, l lock.Lock, to chan<- *lock.Hold) {
	go func() {
		h, err := l.Acquire(t.Context())
		if err != nil {
			t.Error(err)
		}
		to <- h
	}()
}

// Of 32 that wait, each in a process of its own, a release costs one claim: that of the next.
func TestAReleaseWakesOne(t *testing.T) {
	for name, opts := range map[string][]lock.Option{"any": nil, "fair": {lock.WithFairness()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				const waiters = 32
				opts := append(opts, waitingStore...)
				var ps []*process
				claims := func() (n int64) {
					synctest.Wait()
					for _, p := range ps {
						n += p.link.claims.Load()
					}
					return n
				}
				p := start(t, store, "p")
				h := acquire(t, p.Mutex("stock", opts...))
				granted := make(chan *lock.Hold, waiters)
				for i := range waiters {
					q := start(t, store, fmt.Sprintf("q%d", i))
					ps = append(ps, q)
					sendHold(t, q.Mutex("stock", opts...), granted)
				}
				claims()
				time.Sleep(time.Minute) // so that all are subscribed
				for before := claims(); ; before = claims() {
					release(t, h)
					require.LessOrEqual(t, claims()-before, int64(1))
					select {
					case h = <-granted:
						continue
					default:
					}
					break
				}
				require.Empty(t, granted)
				requireFree(t, store, "stock")
			})
		})
	}
}

// The waiters of one process for the same lock do not each enter the queue: at first they cost one
// claim each.
func TestThoseOfOneProcessWaitInOnePlace(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		const waiters = 32
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", waitingStore...))
		granted := make(chan *lock.Hold, waiters)
		for range waiters {
			sendHold(t, q.Mutex("stock", waitingStore...), granted)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		v, err := store.Lock(t.Context(), "stock")
		require.NoError(t, err)
		require.Equal(t, 1, v.Waiters)
		require.LessOrEqual(t, q.link.claims.Load(), int64(waiters+3))
		before := q.link.claims.Load()
		for range waiters {
			release(t, h)
			h = <-granted
		}
		synctest.Wait()
		require.LessOrEqual(t, q.link.claims.Load()-before, int64(2*waiters)) // the next comes to wait as one is granted
		require.EqualValues(t, 1, q.link.listens.Load())
		release(t, h)
	})
}

func TestLostNotificationDelaysByThirdOfTTL(t *testing.T) {
	for name, opts := range map[string][]lock.Option{"any": nil, "fair": {lock.WithFairness()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				h := acquire(t, p.Mutex("stock", opts...))
				q.link.set(func(l *link) { l.deaf = names })
				w := begin(t.Context(), q.Mutex("stock", opts...))
				time.Sleep(time.Minute)
				release(t, h)
				released := time.Now()
				release(t, w.granted(t))
				require.LessOrEqual(t, time.Since(released), soon)
			})
		})
	}
}

func TestWaiterWithoutNotificationsBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		q.link.hangUp(errDown) // as a Redis that forbids its channels
		h := acquire(t, p.Mutex("stock"))
		w := begin(t.Context(), q.Mutex("stock"))
		time.Sleep(time.Minute)
		require.Less(t, q.link.claims.Load(), int64(100))
		require.Less(t, q.link.listens.Load(), int64(40))
		release(t, h)
		released := time.Now()
		release(t, w.granted(t))
		require.LessOrEqual(t, time.Since(released), soon)

		// A lock that is held for short is granted soon.
		h = acquire(t, p.Mutex("stock"))
		w = begin(t.Context(), q.Mutex("stock"))
		time.Sleep(100 * time.Millisecond)
		release(t, h)
		release(t, w.granted(t))
		require.LessOrEqual(t, w.took, 300*time.Millisecond, "the pause doubles up to 200 ms meanwhile")

		// Once subscriptions work again, notifications arrive again.
		q.link.hangUp(nil)
		time.Sleep(10 * time.Second)
		h = acquire(t, p.Mutex("stock"))
		w = begin(t.Context(), q.Mutex("stock"))
		time.Sleep(time.Minute)
		release(t, h)
		w.granted(t)
		require.Equal(t, time.Minute, w.took)
		release(t, w.hold)

		// Until they are not.
		q.link.hangUp(errDown)
		synctest.Wait()
		h = acquire(t, p.Mutex("stock"))
		w = begin(t.Context(), q.Mutex("stock"))
		time.Sleep(100 * time.Millisecond)
		release(t, h)
		release(t, w.granted(t))
		require.LessOrEqual(t, w.took, 300*time.Millisecond, "the pause doubles up to 200 ms meanwhile")
	})
}

func TestWhoBeginsToListenAsksAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", waitingStore...))
		w := begin(t.Context(), q.Mutex("stock", waitingStore...))
		synctest.Wait()
		time.Sleep(time.Minute)
		q.link.hangUp(errDown)
		synctest.Wait()
		release(t, h) // which q does not learn of
		w.waits(t)
		q.link.hangUp(nil)
		w.granted(t)
		require.Less(t, w.took, time.Minute+time.Second)
		release(t, w.hold)
	})
}

func TestNeedlessNotificationsCostOneClaimEach(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", waitingStore...))
		w := begin(t.Context(), q.Mutex("stock", waitingStore...))
		synctest.Wait()
		time.Sleep(time.Minute)
		before := q.link.claims.Load()
		notify := q.link.wakes()
		for range 10 {
			notify("stock", nil)
			synctest.Wait()
			notify("other", nil)
			notify("stock", []string{"stranger"})
			synctest.Wait()
		}
		require.EqualValues(t, 10, q.link.claims.Load()-before)
		for range 1000 { // faster than it can ask: they coalesce
			notify("stock", nil)
		}
		synctest.Wait()
		require.True(t, h.Valid())
		w.waits(t)
		release(t, h)
		release(t, w.granted(t))
	})
}

func TestLateMessagesDoNoHarm(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		p.link.set(func(l *link) { l.late = 700 * time.Millisecond })
		q.link.set(func(l *link) { l.late = 700 * time.Millisecond })
		var tokens []int64
		for range 20 {
			h := acquire(t, p.Mutex("stock", lock.WithFairness()))
			w := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
			time.Sleep(100 * time.Millisecond)
			release(t, h)
			next := w.granted(t)
			tokens = append(tokens, h.Token(), next.Token())
			release(t, next)
		}
		require.IsIncreasing(t, tokens)
		time.Sleep(time.Second)
		requireFree(t, store, "stock")
	})
}

func TestTenThousandWaitersOfAProcessAreServed(t *testing.T) {
	waiters := 10_000
	if raceEnabled {
		waiters = 2_000
	}
	store := new(memlease.Store)
	locks := lock.New(store)
	defer locks.Close()
	h := acquire(t, locks.Mutex("stock"))
	goroutines := runtime.NumGoroutine()
	granted := make(chan *lock.Hold)
	for range waiters {
		sendHold(t, locks.Mutex("stock"), granted)
	}
	require.Eventually(t, func() bool {
		v, err := locks.Inspect(t.Context(), "stock")
		n := runtime.NumGoroutine() - goroutines
		return err == nil && v.Waiters == 1 && n >= waiters && n < waiters+20
	}, 10*time.Second, time.Millisecond, "only the callers wait")
	release(t, h)
	last := h.Token()
	for range waiters {
		h := <-granted
		require.Greater(t, h.Token(), last)
		last = h.Token()
		release(t, h)
	}
	requireFree(t, store, "stock")
}
