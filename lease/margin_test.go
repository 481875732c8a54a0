package lease_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
)

func TestRenewalsReportTheLeastMargin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var margins []time.Duration
		var away atomic.Bool
		store := &faulty{onRenew: func(_ context.Context, do func() error) error {
			if away.Load() {
				return errDown
			}
			return do()
		}}
		l := acquire(t, newRenewer(t, store, func(r lease.Renewal) {
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, r.Margins, r.Kept)
			margins = append(margins, r.Margins...)
		}), claim("job"))
		n, least := l.Renewals()
		require.Zero(t, n)
		require.Zero(t, least)

		time.Sleep(20 * time.Second)
		synctest.Wait()
		n, usual := l.Renewals()
		require.Positive(t, n)
		require.Greater(t, usual, 15*time.Second/2, "renewed at a third of the TTL")

		away.Store(true)
		time.Sleep(time.Until(l.Deadline()) - 2*time.Second) // tries are 1.25 s apart at most
		synctest.Wait()
		before, _ := l.Renewals()
		away.Store(false)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		n, least = l.Renewals()
		require.Greater(t, n, before)
		require.Positive(t, least)
		require.LessOrEqual(t, least, 2*time.Second, "it was nearly lost")
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, margins, n)
		require.Contains(t, margins, least)
		require.Greater(t, n, 8)
		require.Equal(t, margins[len(margins)-8:], l.Margins(), "those of the newest")
	})
}
