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

func TestEventsTellTheLifeOfALock(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock"))
		require.Equal(t, []lock.Event{lock.Granted{Name: "stock", Token: h.Token()}}, p.seen())

		_, err := q.Mutex("stock").TryAcquire(t.Context())
		require.Equal(t, []lock.Event{lock.GaveUp{Name: "stock", Err: err}}, q.seen())

		w := begin(t.Context(), q.Mutex("stock"))
		require.Equal(t, []lock.Event{lock.Waiting{Name: "stock", Holder: "p"}}, q.seen())
		time.Sleep(time.Second)
		release(t, h)
		require.Equal(t, []lock.Event{lock.Released{Name: "stock", Token: h.Token(), Held: time.Second}}, p.seen())
		next := w.granted(t)
		require.Equal(t, []lock.Event{lock.Granted{Name: "stock", Token: next.Token(), Waited: time.Second}}, q.seen())

		time.Sleep(ttl)
		var renewed int
		for _, e := range q.seen() {
			r, ok := e.(lock.Renewed)
			require.True(t, ok, "%T", e)
			require.Equal(t, next.Token(), r.Token)
			require.InDelta(t, ttl*2/3, r.Remaining, float64(ttl/6))
			renewed++
		}
		require.InDelta(t, 3, renewed, 1)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.Mutex("stock").Acquire(ctx)
		require.Equal(t, []lock.Event{
			lock.Waiting{Name: "stock", Holder: "q"}, lock.GaveUp{Name: "stock", Waited: time.Second, Err: err},
		}, p.seen())
		release(t, next)
	})
}

func TestEventsTellWhoWasTakenOver(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock"))
		p.seen()
		p.link.cut(fails)
		next := acquire(t, q.Mutex("stock"))
		events := q.seen()
		g, ok := events[len(events)-1].(lock.Granted)
		require.True(t, ok, "%T", events[len(events)-1])
		require.Len(t, g.TakenOver, 1)
		require.Equal(t, "p", g.TakenOver[0].Holder)
		require.Equal(t, h.Token(), g.TakenOver[0].Token)

		lost, ok := p.seen()[0].(lock.Lost)
		require.True(t, ok)
		require.Equal(t, protocol.LostExpired, lost.Err.Reason)
		require.ErrorIs(t, lost.Err, errDown)
		require.InDelta(t, ttl, lost.Held, float64(time.Second))
		p.link.cut(nil)
		require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)
		require.Empty(t, p.seen(), "what is lost is not released as well")
		release(t, next)
	})
}

func TestEventsTellWhatWasTakenAwayByForce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock"))
		p.seen()
		time.Sleep(time.Second)
		_, err := p.ForceRelease(t.Context(), "stock", h.Token())
		require.NoError(t, err)
		lost, ok := p.seen()[0].(lock.Lost)
		require.True(t, ok)
		require.Equal(t, lock.Lost{
			Name: "stock", Token: h.Token(), Held: time.Second,
			Err: &lease.LostError{Name: "stock", Token: h.Token(), Reason: protocol.LostFenced},
		}, lost)
	})
}

// Every grant ends with one event, of its release or of its loss, also when both come together.
func TestEveryGrantHasOneEnd(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		for range 300 {
			h := acquire(t, p.Mutex("stock", lock.WithMaxHold(time.Second)))
			go func() {
				time.Sleep(time.Second) // as it is lost
				_ = h.Release(context.Background())
			}()
			time.Sleep(2 * time.Second)
			ends := 0
			for _, e := range p.seen() {
				switch e := e.(type) {
				case lock.Lost:
					require.Equal(t, h.Token(), e.Token)
					ends++
				case lock.Released:
					require.Equal(t, h.Token(), e.Token)
					ends++
				}
			}
			require.Equal(t, 1, ends)
		}
	})
}

func TestAReleaseThatFailsIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock"))
		p.seen()
		p.link.set(func(l *link) { l.release = fails })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := h.Release(ctx)
		require.ErrorIs(t, err, errDown)
		require.Equal(t, []lock.Event{lock.Released{Name: "stock", Token: h.Token(), Held: time.Second, Err: err}}, p.seen())
		time.Sleep(ttl)
	})
}
