package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// In real time, for the race detector: many goroutines use one renewer in every way at once, and
// the store is unreliable.
func TestEverythingAtOnce(t *testing.T) {
	store := &faulty{onRenew: func(ctx context.Context, do func() error) error {
		switch rand.IntN(10) {
		case 0:
			return errDown
		case 1:
			return losesTheReply(ctx, do)
		case 2:
			return hangs(ctx, do)
		}
		return do()
	}}
	store.onSettle = func(_ context.Context, do func() error) error {
		if rand.IntN(3) == 0 {
			return errDown
		}
		return do()
	}
	var observed atomic.Int64
	k := newRenewer(t, store, func(lease.Renewal) { observed.Add(1) })
	var grants, lost, told atomic.Int64
	end := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for time.Now().Before(end) {
				c := protocol.Claim{
					Name: fmt.Sprintf("job-%d", rand.IntN(20)), Holder: fmt.Sprintf("a-%d", i),
					TTL: time.Duration(20+rand.IntN(60)) * time.Millisecond,
				}
				l, err := k.AcquireAs(t.Context(), c)
				if err != nil {
					if !errors.Is(err, lease.ErrHeld) {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
					continue
				}
				grants.Add(1)
				stop := l.OnRenewal(func(time.Time) { told.Add(1) })
				if rand.IntN(2) == 0 {
					stop()
				}
				if rand.IntN(3) == 0 {
					_ = l.SetAttempt(l.Context(), 2)
				}
				select {
				case <-l.Context().Done():
				case <-time.After(time.Duration(rand.IntN(60)) * time.Millisecond):
				}
				l.Deadline()
				if errors.Is(context.Cause(l.Context()), lease.ErrLost) {
					lost.Add(1)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				switch rand.IntN(3) {
				case 0:
					_ = l.Release(ctx)
				case 1:
					_ = l.Settle(ctx, "succeeded")
				default:
					l.Abandon()
				}
				cancel()
				require.Error(t, l.Context().Err())
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(end) {
			time.Sleep(100 * time.Millisecond)
			k.Close()
		}
	})
	wg.Wait()
	require.Zero(t, k.Held())
	k.Close()
	require.Zero(t, keeperGoroutines())
	require.Positive(t, grants.Load())
	require.Positive(t, observed.Load())
	require.Positive(t, told.Load())
	t.Logf("%d grants, %d lost", grants.Load(), lost.Load())
}
