package lease_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

func TestOnRenewalGetsRisingDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		l := acquire(t, newRenewer(t, store), claim("job"))
		last := l.Deadline()
		calls := 0
		stop := l.OnRenewal(func(deadline time.Time) {
			calls++
			require.True(t, deadline.After(last))
			require.Equal(t, time.Now().Add(15*time.Second-lease.Margin(15*time.Second)), deadline, "of the renewal just sent")
			require.Equal(t, deadline, l.Deadline())
			last = deadline
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, int(store.renewals.Load()), calls)
		require.Greater(t, calls, 9)
		stop()
		stop() // again does no harm
		before := calls
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, before, calls)
		requireHeld(t, l)
	})
}

// Different goroutines report renewals of the renewer and of SetAttempt.
func TestOnRenewalCallsNeverOverlapNorFallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, newRenewer(t, new(faulty)), claim("job"))
		last, calls, busy := l.Deadline(), 0, false
		l.OnRenewal(func(deadline time.Time) {
			require.False(t, busy, "called while a call is under way")
			busy = true
			require.True(t, deadline.After(last))
			last = deadline
			calls++
			time.Sleep(100 * time.Millisecond) // it must not, but if it does
			busy = false
		})
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { require.NoError(t, l.SetAttempt(t.Context(), i+2)) })
			time.Sleep(37 * time.Millisecond)
		}
		wg.Wait()
		time.Sleep(time.Second)
		require.Greater(t, calls, 20)
		require.Equal(t, l.Deadline(), last, "the newest is notified in the end")
		l.Abandon()
	})
}

func TestEachListenerIsCalledUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, newRenewer(t, new(faulty)), claim("job"))
		calls := map[string]int{}
		var stopSelf func()
		stopSelf = l.OnRenewal(func(time.Time) { calls["stops itself"]++; stopSelf() })
		l.OnRenewal(func(time.Time) { calls["stays"]++ })
		stop := l.OnRenewal(func(time.Time) { calls["stopped"]++ })
		stop()
		var stopNext func()
		l.OnRenewal(func(time.Time) { stopNext() })
		stopNext = l.OnRenewal(func(time.Time) { calls["stopped by the one before"]++ })
		adds := false
		l.OnRenewal(func(time.Time) {
			if !adds {
				adds = true
				l.OnRenewal(func(time.Time) { calls["added later"]++ })
			}
		})
		for i := range 3 {
			time.Sleep(time.Second)
			require.NoError(t, l.SetAttempt(t.Context(), i+2))
		}
		synctest.Wait()
		require.Equal(t, map[string]int{"stops itself": 1, "stays": 3, "added later": 2}, calls)
		l.Abandon()
	})
}

func TestListenerMayUseTheLease(t *testing.T) {
	for name, use := range map[string]func(*lease.Lease){
		"Abandon":    (*lease.Lease).Abandon,
		"Settle":     func(l *lease.Lease) { _ = l.Settle(context.Background(), "succeeded") },
		"SetAttempt": func(l *lease.Lease) { _ = l.SetAttempt(context.Background(), 2) },
		"Deadline":   func(l *lease.Lease) { l.Deadline(); l.Valid() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := acquire(t, newRenewer(t, new(faulty)), claim("job"))
				calls := 0
				l.OnRenewal(func(time.Time) {
					calls++
					use(l)
				})
				ended := 0
				l.OnRenewal(func(time.Time) {
					if l.Context().Err() != nil {
						ended++
					}
				})
				time.Sleep(7 * time.Second)
				synctest.Wait()
				require.Equal(t, 1, calls)
				require.Zero(t, ended, "called though the lease has ended")
			})
		})
	}
}

func TestNoListenerIsCalledAfterTheLeaseEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onRenew: answersAfter(2 * time.Second)}
		l := acquire(t, newRenewer(t, store), claim("job"))
		l.OnRenewal(func(time.Time) { t.Error("called") })
		for store.renewals.Load() == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		l.Abandon()
		time.Sleep(time.Minute)
	})
}

func TestSetAttemptIsRecordedAndRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		l := acquire(t, newRenewer(t, store), tickClaim("job"))
		require.Equal(t, 1, l.Attempt())
		time.Sleep(time.Second)
		require.NoError(t, l.SetAttempt(t.Context(), 5))
		require.Equal(t, 5, l.Attempt())
		require.Equal(t, time.Now().Add(15*time.Second-lease.Margin(15*time.Second)), l.Deadline())
		require.Equal(t, 5, attempt(t, store))
		time.Sleep(4 * time.Second)
		require.Equal(t, int64(1), store.renewals.Load(), "the renewer's renewal has been put off")
		l.Abandon()
		time.Sleep(time.Minute)
		next := acquire(t, newRenewer(t, store), byAnother(tickClaim("job")))
		require.Equal(t, 6, next.Attempt(), "a takeover counts on")
		next.Abandon()
	})
}

func TestFailedSetAttemptIsRecordedByNextRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onRenew: first(1, fails)}
		l := acquire(t, newRenewer(t, store), tickClaim("job"))
		deadline := l.Deadline()
		time.Sleep(time.Second)
		require.ErrorIs(t, l.SetAttempt(t.Context(), 5), errDown)
		require.Equal(t, 5, l.Attempt())
		require.Equal(t, deadline, l.Deadline())
		require.Equal(t, 1, attempt(t, store))
		time.Sleep(6 * time.Second)
		require.Equal(t, 5, attempt(t, store))
		requireHeld(t, l)
	})
}

// attempt is the attempt of the one open tick of job, as the store has it.
func attempt(t *testing.T, store protocol.Store) int {
	t.Helper()
	record, err := store.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.Len(t, record.Open, 1)
	return record.Open[0].Attempt
}
