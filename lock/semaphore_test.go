package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestASemaphoreHasSoManyPermits(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		var holds []*lock.Hold
		for i := range 5 {
			holds = append(holds, acquire(t, []*process{p, q}[i%2].Semaphore("pool", 5)))
		}
		for i := range holds[1:] {
			require.Greater(t, holds[i+1].Token(), holds[i].Token())
		}
		requireHeld(t, p.Semaphore("pool", 5))
		w := begin(t.Context(), q.Semaphore("pool", 5))
		w.waits(t)
		release(t, holds[2])
		release(t, holds[2]) // gives back what it held, once
		h := w.granted(t)
		requireHeld(t, p.Semaphore("pool", 5))
		for _, h := range append(holds, h) {
			release(t, h)
		}
		requireFree(t, store, "pool")
	})
}

func TestSeveralPermitsAreTakenAllOrNone(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		pool := p.Semaphore("pool", 5, lock.WithFairness())
		require.Equal(t, "pool", pool.Take(3).Name())
		three := acquire(t, pool.Take(3))
		requireHeld(t, pool.Take(3))
		all := begin(t.Context(), q.Semaphore("pool", 5, lock.WithFairness()).Take(5))
		all.waits(t)
		requireHeld(t, pool.Take(2)) // would fit, but another came before
		two := begin(t.Context(), pool.Take(2))
		two.waits(t)
		release(t, three)
		h := all.granted(t)
		two.waits(t)
		release(t, h)
		release(t, two.granted(t))
		requireFree(t, store, "pool")
	})
}

// A release of several permits wakes as many as there is room for.
func TestAReleaseOfManyPermitsWakesMany(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Semaphore("pool", 100).Take(100))
		var waiting []*acquisition
		for range 100 { // more than one process has in the queue at once
			waiting = append(waiting, begin(t.Context(), q.Semaphore("pool", 100)))
		}
		waiting[0].waits(t)
		v, err := store.Lock(t.Context(), "pool")
		require.NoError(t, err)
		require.Equal(t, 16, v.Waiters)
		time.Sleep(time.Minute)
		release(t, h)
		released := time.Now()
		for _, w := range waiting {
			w.granted(t)
		}
		require.Zero(t, time.Since(released))
		for _, w := range waiting {
			release(t, w.hold)
		}
		requireFree(t, store, "pool")
	})
}

// Each permit has a lease of its own.
func TestTheDeadFreeTheirPermits(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, dead := start(t, store, "p"), start(t, store, "dead")
		lives := acquire(t, p.Semaphore("pool", 3))
		dies := acquire(t, dead.Semaphore("pool", 3).Take(2))
		dead.link.cut(hangs)
		w := begin(t.Context(), p.Semaphore("pool", 3))
		h := w.granted(t)
		require.GreaterOrEqual(t, w.took, ttl)
		require.Less(t, w.took, ttl+25*time.Millisecond)
		require.Error(t, dies.Context().Err())
		require.True(t, lives.Valid())
		another := acquire(t, p.Semaphore("pool", 3))
		for _, h := range []*lock.Hold{lives, h, another} {
			release(t, h)
		}
		requireFree(t, store, "pool")
	})
}

// The caller gives the number of permits: so it can be changed while the semaphore is used.
func TestTheNumberOfPermitsCanChange(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		a, b := acquire(t, p.Semaphore("pool", 2)), acquire(t, p.Semaphore("pool", 2))
		requireHeld(t, p.Semaphore("pool", 2))
		c := acquire(t, p.Semaphore("pool", 3))
		release(t, a)
		requireHeld(t, p.Semaphore("pool", 1))
		requireHeld(t, p.Semaphore("pool", 2))
		w := begin(t.Context(), p.Semaphore("pool", 1))
		w.waits(t)
		release(t, b)
		w.waits(t)
		release(t, c)
		synctest.Wait()
		release(t, w.granted(t))
		requireFree(t, store, "pool")
	})
}
