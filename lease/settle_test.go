package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// tickClaim is a claim of a tick, which can be settled.
func tickClaim(name string) protocol.Claim {
	c := claim(name)
	c.Tick, c.Takeovers = 1000, 3
	return c
}

// outcome is the outcome of the tick of [tick], as the store has it.
func outcome(t *testing.T, store protocol.Store, name string) lease.Outcome {
	t.Helper()
	record, err := store.Inspect(t.Context(), name)
	require.NoError(t, err)
	for _, s := range record.Settled {
		if s.Tick == 1000 {
			return s.Outcome
		}
	}
	return ""
}

func TestSettleRetriesUntilDone(t *testing.T) {
	for name, f := range map[string]fault{
		"failing": first(20, fails), "losing replies": first(3, losesTheReply), "hanging": first(3, hangs),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{onSettle: f}
				k := newRenewer(t, store)
				l := acquire(t, k, tickClaim("job"))
				require.NoError(t, l.Settle(context.WithoutCancel(t.Context()), "succeeded"))
				require.Equal(t, lease.Outcome("succeeded"), outcome(t, store, "job"))
				require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
				require.Zero(t, k.Held())
				require.NoError(t, l.Settle(t.Context(), "succeeded"), "done is done")
			})
		})
	}
}

func TestReleaseRetriesUntilDone(t *testing.T) {
	for name, f := range map[string]fault{
		"failing": first(20, fails), "losing replies": first(3, losesTheReply), "hanging": first(3, hangs),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{onRelease: f}
				k := newRenewer(t, store)
				l := acquire(t, k, tickClaim("job"))
				require.NoError(t, l.Release(context.WithoutCancel(t.Context())))
				require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
				answer, err := store.Claim(t.Context(), byAnother(tickClaim("job")))
				require.NoError(t, err)
				require.Equal(t, protocol.Granted, answer.Status)
				require.Equal(t, 2, answer.Attempt)
				require.Equal(t, 3, answer.Takeovers, "a release is no takeover")
			})
		})
	}
}

func TestStoresLeaseIsRenewedWhileSettlingIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		store := &faulty{}
		store.onSettle = func(_ context.Context, do func() error) error {
			if time.Since(start) < time.Hour {
				return errDown
			}
			return do()
		}
		l := acquire(t, newRenewer(t, store), tickClaim("job"))
		settled := make(chan error)
		go func() { settled <- l.Settle(t.Context(), "succeeded") }()
		for time.Since(start) < time.Hour-time.Second {
			time.Sleep(time.Second)
			answer, err := store.Claim(t.Context(), byAnother(tickClaim("job")))
			require.NoError(t, err)
			require.Equal(t, protocol.Held, answer.Status)
		}
		require.NoError(t, <-settled)
		require.Less(t, time.Since(start), time.Hour+time.Second)
	})
}

// Once the request is on its way another can be granted the name, which the holder learns only
// later, if ever.
func TestContextEndsBeforeTheStoreIsAsked(t *testing.T) {
	for name, end := range map[string]func(*lease.Lease) error{
		"Settle":  func(l *lease.Lease) error { return l.Settle(t.Context(), "succeeded") },
		"Release": func(l *lease.Lease) error { return l.Release(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			var l *lease.Lease
			asked := 0
			ask := func(_ context.Context, do func() error) error {
				asked++
				require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
				require.False(t, l.Valid())
				return do()
			}
			l = acquire(t, newRenewer(t, &faulty{onSettle: ask, onRelease: ask}), tickClaim("job"))
			require.NoError(t, end(l))
			require.Equal(t, 1, asked)
		})
	}
}

func TestSettleGivesUpWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		var tries atomic.Int64
		store.onSettle = func(ctx context.Context, do func() error) error {
			if tries.Add(1) < 3 {
				return errDown
			}
			return hangs(ctx, do)
		}
		k := newRenewer(t, store)
		l := acquire(t, k, tickClaim("job"))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := l.Settle(ctx, "succeeded")
		require.ErrorIs(t, err, context.DeadlineExceeded, "why it stopped")
		require.ErrorIs(t, err, errDown, "what was wrong")
		require.Equal(t, 500*time.Millisecond, time.Since(start))
		require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
		require.Zero(t, k.Held(), "it runs out by itself")
		answer, err := store.Claim(t.Context(), byAnother(tickClaim("job")))
		require.NoError(t, err)
		require.Equal(t, protocol.Held, answer.Status)
	})
}

func TestSettleUnderAnEndedContextSaysWhyOnce(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	l := acquire(t, newRenewer(t, new(faulty)), tickClaim("job"))
	require.EqualError(t, l.Settle(ctx, "succeeded"), "stop")
}

func TestSettleAfterTheDeadlineSucceedsUnlessTakenOver(t *testing.T) {
	for name, takenOver := range map[string]bool{"free": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faulty{onRenew: hangs}
				l := acquire(t, newRenewer(t, store), tickClaim("job"))
				<-l.Context().Done()
				time.Sleep(time.Minute)
				if takenOver {
					acquire(t, newRenewer(t, store), byAnother(tickClaim("job")))
				}
				err := l.Settle(t.Context(), "succeeded")
				requireLost(t, l, protocol.LostExpired, context.DeadlineExceeded)
				if takenOver {
					require.ErrorIs(t, err, lease.ErrFenced)
					require.Empty(t, outcome(t, store, "job"))
				} else {
					require.NoError(t, err)
					require.Equal(t, lease.Outcome("succeeded"), outcome(t, store, "job"))
				}
			})
		})
	}
}

func TestSettleAndReleaseSayFenced(t *testing.T) {
	for name, verb := range map[string]func(*lease.Lease, context.Context) error{
		"Settle":     func(l *lease.Lease, ctx context.Context) error { return l.Settle(ctx, "succeeded") },
		"Release":    (*lease.Lease).Release,
		"SetAttempt": func(l *lease.Lease, ctx context.Context) error { return l.SetAttempt(ctx, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(faulty)
				k := newRenewer(t, store)
				l := acquire(t, k, tickClaim("job"))
				by := takeAway(t, store, l)
				start := time.Now()
				require.ErrorIs(t, verb(l, t.Context()), lease.ErrFenced)
				require.Zero(t, time.Since(start), "it is not tried again")
				require.Zero(t, k.Held())
				if name == "SetAttempt" {
					requireLost(t, l, protocol.LostFenced, nil)
				} else {
					require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
				}
				record, err := store.Inspect(t.Context(), "job")
				require.NoError(t, err)
				require.Equal(t, by.Token, record.Open[0].Token, "the new holder is left alone")
			})
		})
	}
}

// The settle overtakes a renewal, whose answer then says that the grant is not current: that is no
// loss.
func TestSettleWhileARenewalIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewing, settled := make(chan struct{}), make(chan struct{})
		store := new(faulty)
		store.onRenew = first(1, func(_ context.Context, do func() error) error {
			close(renewing)
			<-settled
			return do()
		})
		var seen lease.Renewal
		store.onSettle = func(_ context.Context, do func() error) error {
			err := do()
			close(settled)
			time.Sleep(time.Second) // the renewal is answered before the settle
			return err
		}
		l := acquire(t, newRenewer(t, store, func(r lease.Renewal) { seen = r }), tickClaim("job"))
		<-renewing
		require.NoError(t, l.Settle(t.Context(), "succeeded"))
		require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
		require.Equal(t, lease.Outcome("succeeded"), outcome(t, store, "job"))
		require.Zero(t, seen, "neither fenced nor failed")
	})
}

func TestRenewalAnsweredAfterTheSettleChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewing, settled := make(chan struct{}), make(chan struct{})
		store := new(faulty)
		store.onRenew = func(_ context.Context, do func() error) error {
			close(renewing)
			<-settled
			return do()
		}
		k := newRenewer(t, store)
		l := acquire(t, k, tickClaim("job"))
		<-renewing
		require.NoError(t, l.Settle(t.Context(), "succeeded"))
		close(settled)
		synctest.Wait()
		require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
		require.Zero(t, k.Held())
		time.Sleep(time.Hour)
		require.Equal(t, int64(1), store.renewals.Load())
		require.Equal(t, lease.Outcome("succeeded"), outcome(t, store, "job"))
	})
}

func TestSettleRefusesAnOutcomeThatCannotBeRecorded(t *testing.T) {
	k := newRenewer(t, new(faulty))
	for _, o := range []lease.Outcome{"", "Done", "it worked"} {
		l := acquire(t, k, tickClaim("job-"+protocol.NewRequest()))
		require.ErrorContains(t, l.Settle(context.WithoutCancel(t.Context()), o), protocol.OutcomeRule)
		require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
	}
	require.Zero(t, k.Held())
}
