package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestWaitersOutliveAnOutageOfTheStore(t *testing.T) {
	for name, f := range map[string]fault{"fails": fails, "hangs": func(ctx context.Context, do func() error) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second) // as a store on a network
		defer cancel()
		return hangs(ctx, do)
	}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p, q := start(t, store, "p"), start(t, store, "q")
				h := acquire(t, p.Mutex("stock"))
				w := begin(t.Context(), q.Mutex("stock"))
				time.Sleep(time.Minute)
				for _, r := range []*process{p, q} {
					r.link.cut(f)
					r.link.hangUp(errDown)
				}
				time.Sleep(ttl)
				w.waits(t)
				require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
				for _, r := range []*process{p, q} {
					r.link.cut(nil)
					r.link.hangUp(nil)
				}
				back := time.Now()
				next := w.granted(t)
				require.Less(t, time.Since(back), 2*time.Second)
				require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)
				release(t, next)
				requireFree(t, store, "stock")
			})
		})
	}
}

// A short outage costs no waiter its position in the queue.
func TestThePlaceInLineOutlivesAShortOutage(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q, r := start(t, store, "p"), start(t, store, "q"), start(t, store, "r")
		h := acquire(t, p.Mutex("stock", lock.WithFairness()))
		first := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
		first.waits(t)
		second := begin(t.Context(), r.Mutex("stock", lock.WithFairness()))
		for range 20 {
			time.Sleep(10 * time.Second)
			q.link.cut(fails)
			time.Sleep(ticket / 3) // whenever it asked last, and whenever it asks next
			q.link.cut(nil)
		}
		v, err := store.Lock(t.Context(), "stock")
		require.NoError(t, err)
		require.Equal(t, "q", v.Queue[0].Holder)
		release(t, h)
		release(t, first.granted(t))
		release(t, second.granted(t))
	})
}

func TestWaitersAndHoldersOutliveALoss(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock", lock.WithFairness()))
		time.Sleep(time.Minute)
		store.Forget()
		time.Sleep(ttl * 37 / 100) // until it has been renewed
		w := begin(t.Context(), q.Mutex("stock", lock.WithFairness()))
		time.Sleep(time.Minute)
		w.waits(t)
		require.True(t, h.Valid())

		store.Forget()
		time.Sleep(ttl * 37 / 100)
		if h.Valid() {
			release(t, h)
		}
		next := w.granted(t)
		require.Greater(t, next.Token(), h.Token())
		release(t, next)
		requireFree(t, store, "stock")
	})
}
