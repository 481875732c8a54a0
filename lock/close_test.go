package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestCloseEndsAllWaitingAndForgetsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, q.Mutex("stock"))
		kept := acquire(t, p.Mutex("other"))
		var waiting []*acquisition
		for range 10 {
			waiting = append(waiting, begin(t.Context(), p.Mutex("stock")), begin(t.Context(), p.Mutex("stock", lock.WithFairness())))
		}
		p.link.set(func(l *link) { l.release = firstThen(5, fails, nil) })
		synctest.Wait()
		began := time.Now()
		p.Close()
		require.LessOrEqual(t, time.Since(began), time.Second)
		synctest.Wait()
		for _, w := range waiting {
			<-w.done
			require.ErrorIs(t, w.err, lock.ErrClosed)
		}
		require.ErrorIs(t, context.Cause(kept.Context()), lease.ErrReleased)
		v, err := store.Lock(t.Context(), "stock")
		require.NoError(t, err)
		require.Empty(t, v.Queue)
		_, err = p.Mutex("stock").Acquire(t.Context())
		require.ErrorIs(t, err, lock.ErrClosed)
		_, err = p.Mutex("new").TryAcquire(t.Context())
		require.ErrorIs(t, err, lock.ErrClosed)
		p.Close() // again
		release(t, kept)
		requireFree(t, store, "other")
		release(t, h)
		requireFree(t, store, "stock")
	})
}

// A grant that comes as the process closes is not kept.
func TestNothingIsHeldAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		asked := make(chan struct{})
		p.link.set(func(l *link) {
			l.claim = func(_ context.Context, do func() error) error {
				close(asked)
				time.Sleep(time.Second) // whatever its context says
				return do()
			}
		})
		w := begin(t.Context(), p.Mutex("stock"))
		<-asked
		p.Close()
		<-w.done
		require.ErrorIs(t, w.err, lock.ErrClosed)
		requireFree(t, store, "stock")
	})
}

func TestCloseDoesNotWaitForTheStore(t *testing.T) {
	for name, f := range map[string]fault{"fails": fails, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *memlease.Store) {
				p := start(t, store, "p")
				p.link.cut(f)
				for range 100 {
					w := begin(t.Context(), p.Mutex("stock", lock.WithFairness()))
					defer func() { <-w.done; require.ErrorIs(t, w.err, lock.ErrClosed) }()
				}
				synctest.Wait()
				began := time.Now()
				p.Close()
				require.Equal(t, 2*time.Second, time.Since(began))
			})
		})
	}
}
