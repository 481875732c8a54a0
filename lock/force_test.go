package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestForcedReleaseIsNoticedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p, q := start(t, store, "p"), start(t, store, "q")
		h := acquire(t, p.Mutex("stock"))
		next := begin(t.Context(), q.Mutex("stock"))
		next.waits(t)
		began := time.Now()
		held, err := q.ForceRelease(t.Context(), "stock", h.Token())
		require.NoError(t, err)
		require.True(t, held)
		<-h.Context().Done()
		require.Zero(t, time.Since(began))
		lost, ok := errors.AsType[*lease.LostError](context.Cause(h.Context()))
		require.True(t, ok)
		require.Equal(t, protocol.LostFenced, lost.Reason)
		require.True(t, next.granted(t).Valid())
		require.Zero(t, time.Since(began))
		require.ErrorIs(t, h.Release(t.Context()), protocol.ErrFenced)

		held, err = q.ForceRelease(t.Context(), "stock", h.Token()) // of one that is not held
		require.NoError(t, err)
		require.False(t, held)
		require.True(t, next.hold.Valid())
		release(t, next.hold)
	})
}

// So many wait that the store says "any of that name": the holder has to learn of that too.
func TestForcedReleaseIsNoticedWithManyWaiters(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Semaphore("pool", 1000).Take(1000))
		var waiting []*acquisition
		for range 100 {
			q := start(t, store, "q")
			waiting = append(waiting, begin(t.Context(), q.Semaphore("pool", 1000)))
		}
		synctest.Wait()
		began := time.Now()
		_, err := p.ForceRelease(t.Context(), "pool", h.Token())
		require.NoError(t, err)
		<-h.Context().Done()
		require.Zero(t, time.Since(began))
		for _, w := range waiting {
			release(t, w.granted(t))
		}
		require.Zero(t, time.Since(began))
	})
}

func TestForcedReleaseIsNoticedByTheNextRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock"))
		synctest.Wait()
		p.link.set(func(l *link) { l.deaf = names })
		_, err := p.ForceRelease(t.Context(), "stock", h.Token())
		require.NoError(t, err)
		began := time.Now()
		<-h.Context().Done()
		require.Less(t, time.Since(began), ttl*37/100)
	})
}

func TestForcedReleaseDuringOutageIsNoticedLater(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		p := start(t, store, "p")
		h := acquire(t, p.Mutex("stock", lock.WithTTL(time.Hour)))
		synctest.Wait()
		p.link.hangUp(errDown)
		synctest.Wait()
		_, err := p.ForceRelease(t.Context(), "stock", h.Token())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, h.Context().Err())
		p.link.hangUp(nil)
		time.Sleep(5 * time.Second)
		require.ErrorIs(t, context.Cause(h.Context()), lease.ErrLost)
	})
}
