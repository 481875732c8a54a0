package expiring_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/expiring"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func test(t *testing.T, f func(t *testing.T, l lock.Lock)) {
	synctest.Test(t, func(t *testing.T) {
		locks := lock.New(new(memlease.Store))
		defer locks.Close()
		f(t, locks.Mutex("name", lock.WithTTL(time.Second)))
	})
}

func TestAHoldEndsUnlessItIsExtended(t *testing.T) {
	test(t, func(t *testing.T, l lock.Lock) {
		h, err := expiring.TryAcquire(t.Context(), l, 10*time.Second)
		require.NoError(t, err)
		time.Sleep(9 * time.Second)
		require.True(t, h.Extend(5*time.Second))
		time.Sleep(4 * time.Second)
		require.True(t, h.Held())
		require.Equal(t, time.Second, time.Until(h.Until()))
		_, err = l.TryAcquire(t.Context())
		require.ErrorIs(t, err, lease.ErrHeld)

		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, h.Held())
		require.Zero(t, h.Until())
		require.False(t, h.Extend(time.Second))
		require.Error(t, h.Context().Err())
		other, err := l.TryAcquire(t.Context())
		require.NoError(t, err, "at once, not a TTL later")
		held, err := h.Release(t.Context())
		require.NoError(t, err)
		require.False(t, held)
		require.True(t, other.Valid())
		require.NoError(t, other.Release(t.Context()))
	})
}

func TestAHoldThatIsRenewedLasts(t *testing.T) {
	test(t, func(t *testing.T, l lock.Lock) {
		ctx, cancel := context.WithCancel(t.Context())
		h, err := expiring.TryAcquire(ctx, l, 0)
		require.NoError(t, err)
		cancel() // limits the claim only
		time.Sleep(time.Hour)
		require.True(t, h.Held())
		require.NoError(t, h.Context().Err())
		require.True(t, h.Extend(time.Second))
		time.Sleep(time.Hour)
		require.Less(t, time.Until(h.Until()), time.Second)
		held, err := h.Release(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		held, err = h.Release(t.Context())
		require.NoError(t, err)
		require.False(t, held, "only once")
		require.False(t, h.Held())
	})
}

func TestAnEndedContextHoldsNothing(t *testing.T) {
	test(t, func(t *testing.T, l lock.Lock) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := expiring.TryAcquire(ctx, l, time.Second)
		require.ErrorIs(t, err, context.Canceled)
		h, err := expiring.TryAcquire(t.Context(), l, time.Second)
		require.NoError(t, err)
		_, err = h.Release(t.Context())
		require.NoError(t, err)
	})
}
