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

func TestOneTransientErrorEndsNothing(t *testing.T) {
	for name, f := range map[string]fault{"fails": fails, "loses the reply": losesTheReply, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			forTerms(t, func(t *testing.T, ttl time.Duration) {
				if name != "fails" && ttl < 50*time.Millisecond {
					return // a hanging call is given 10 ms, more than there is time for
				}
				synctest.Test(t, func(t *testing.T) {
					var calls atomic.Int64
					store := &faulty{onRenew: func(ctx context.Context, do func() error) error {
						if calls.Add(1)%2 == 1 {
							return f(ctx, do)
						}
						return do()
					}}
					k := newRenewer(t, store)
					defer k.Close()
					c := claim("job")
					c.TTL = ttl
					l := acquire(t, k, c)
					time.Sleep(5 * ttl)
					requireHeld(t, l)
					require.Greater(t, calls.Load(), int64(15), "renewed thrice a term, and every second time in vain")
				})
			})
		})
	}
}

func TestFailedRenewalsAreRetriedAtABoundedRate(t *testing.T) {
	forTerms(t, func(t *testing.T, ttl time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{onRenew: fails}
			c := claim("job")
			c.TTL = ttl
			l := acquire(t, newRenewer(t, store), c)
			<-l.Context().Done()
			require.GreaterOrEqual(t, store.renewals.Load(), int64(6))
			require.LessOrEqual(t, store.renewals.Load(), max(50, int64(ttl/(15*time.Second))))
		})
	})
}

func TestFailuresUntilTheDeadlineEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen lease.Renewal
		store := &faulty{onRenew: fails}
		l := acquire(t, newRenewer(t, store, func(r lease.Renewal) {
			seen.Kept += r.Kept
			seen.Failed += r.Failed
			seen.Fenced += r.Fenced
			if r.Err != nil {
				seen.Err = r.Err
			}
			seen.Expired = append(seen.Expired, r.Expired...)
		}), claim("job"))
		start := time.Now()
		time.Sleep(time.Until(l.Deadline()) - 1)
		requireHeld(t, l)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		requireLost(t, l, protocol.LostExpired, errDown)
		require.Equal(t, 15*time.Second-lease.Margin(15*time.Second), time.Since(start))

		require.Equal(t, lease.Renewal{
			Failed: int(store.renewals.Load()), Err: errDown, Expired: []*lease.LostError{context.Cause(l.Context()).(*lease.LostError)},
		}, seen)
		require.ErrorContains(t, seen.Expired[0], errDown.Error())
		after := store.renewals.Load()
		time.Sleep(time.Hour)
		require.Equal(t, after, store.renewals.Load(), "what is lost is not renewed")
	})
}

func TestLateAnswerRevivesNothing(t *testing.T) {
	for _, late := range []time.Duration{10 * time.Second, time.Minute} { // before and after the store could grant again
		synctest.Test(t, func(t *testing.T) {
			l := acquire(t, newRenewer(t, &faulty{onRenew: answersAfter(late)}), claim("job"))
			told := 0
			l.OnRenewal(func(time.Time) { told++ })
			<-l.Context().Done()
			deadline := l.Deadline()
			require.Equal(t, deadline, time.Now())
			for range 100 {
				time.Sleep(time.Second)
				require.False(t, l.Valid())
				require.Equal(t, deadline, l.Deadline())
			}
			requireLost(t, l, protocol.LostExpired, nil)
			require.Zero(t, told)
		})
	}
}

// The answer comes when the deadline has passed, but before the renewer had a chance to end the
// lease.
func TestAnswerAfterTheDeadlineRevivesNothing(t *testing.T) {
	suspend := lease.Suspendable(t)
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onRenew: first(1, func(_ context.Context, do func() error) error {
			err := do()
			suspend(10 * time.Second) // past the deadline, but not past what this renewal would have made of it
			return err
		})}
		l := acquire(t, newRenewer(t, store), claim("job"))
		for store.renewals.Load() == 0 {
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		require.False(t, l.Valid())
		<-l.Context().Done()
		requireLost(t, l, protocol.LostExpired, nil)
	})
}

func TestFencedRenewalEndsAtOnceWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fenced int
		store := new(faulty)
		l := acquire(t, newRenewer(t, store, func(r lease.Renewal) { fenced += r.Fenced }), claim("job"))
		takeAway(t, store, l)
		start := time.Now()
		<-l.Context().Done()
		require.Less(t, time.Since(start), 15*time.Second/3+15*time.Second/30+1, "at the next renewal")
		synctest.Wait()
		requireLost(t, l, protocol.LostFenced, nil)
		require.Equal(t, 1, fenced)
	})
}

// takeAway gives what l holds to another, as only a bug or the loss of a record could.
func takeAway(t *testing.T, store lease.Store, l *lease.Lease) protocol.Answer {
	t.Helper()
	g := protocol.Grant{Name: l.Name(), Tick: l.Tick(), Holder: "a", Request: "x", Token: l.Token(), Attempt: 1, TTL: time.Second}
	require.NoError(t, store.Release(t.Context(), g))
	c := byAnother(claim(l.Name()))
	c.Tick = l.Tick()
	answer, err := store.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, answer.Status)
	require.Greater(t, answer.Token, l.Token())
	return answer
}

func TestNoLeaseIsRenewedAfterItsEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, k *lease.Renewer, l *lease.Lease){
		"Settle": func(t *testing.T, _ *lease.Renewer, l *lease.Lease) {
			require.NoError(t, l.Settle(t.Context(), "succeeded"))
		},
		"Release": func(t *testing.T, _ *lease.Renewer, l *lease.Lease) { require.NoError(t, l.Release(t.Context())) },
		"Abandon": func(_ *testing.T, _ *lease.Renewer, l *lease.Lease) { l.Abandon() },
		"Close":   func(_ *testing.T, k *lease.Renewer, _ *lease.Lease) { k.Close() },
		"SetAttempt too": func(t *testing.T, _ *lease.Renewer, l *lease.Lease) {
			l.Abandon()
			require.ErrorIs(t, l.SetAttempt(t.Context(), 2), lease.ErrReleased)
			require.Equal(t, 1, l.Attempt())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(faulty)
				k := newRenewer(t, store)
				defer k.Close()
				l := acquire(t, k, claim("job"))
				time.Sleep(time.Minute)
				before := store.renewed.Load()
				require.NotZero(t, before)
				end(t, k, l)
				require.Equal(t, lease.ErrReleased, context.Cause(l.Context()))
				require.False(t, l.Valid())
				require.Zero(t, k.Held())
				time.Sleep(time.Minute)
				require.Equal(t, before, store.renewed.Load())
				answer, err := store.Claim(t.Context(), byAnother(claim("job")))
				require.NoError(t, err)
				require.Equal(t, protocol.Granted, answer.Status)
			})
		})
	}
}

func TestParentContextEndsTheContextAndReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		k := newRenewer(t, store)
		type key struct{}
		stop := errors.New("stop")
		parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		l, err := k.AcquireAs(parent, claim("job"))
		require.NoError(t, err)
		require.Equal(t, "value", l.Context().Value(key{}))
		cancel(stop)
		<-l.Context().Done()
		require.Equal(t, stop, context.Cause(l.Context()))
		require.True(t, l.Valid(), "the work may still be ended in good order")
		time.Sleep(time.Hour)
		answer, err := store.Claim(t.Context(), byAnother(claim("job")))
		require.NoError(t, err)
		require.Equal(t, protocol.Held, answer.Status)
		require.NoError(t, l.Settle(t.Context(), "succeeded"))
	})
}

func TestSuccessForgetsTheFailuresBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		calls := make(chan time.Time, 1000)
		store := &faulty{onRenew: func(_ context.Context, do func() error) error {
			calls <- time.Now()
			if n := n.Add(1); n <= 8 || n == 10 {
				return errDown
			}
			return do()
		}}
		l := acquire(t, newRenewer(t, store), claim("job"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Greater(t, len(calls), 11)
		var at [11]time.Time
		for i := range at {
			at[i] = <-calls
		}
		require.Greater(t, at[7].Sub(at[6]), 250*time.Millisecond, "the eighth failure in a row")
		require.LessOrEqual(t, at[10].Sub(at[9]), 25*time.Millisecond, "the first one after a success")

		takeAway(t, store, l)
		<-l.Context().Done()
		requireLost(t, l, protocol.LostFenced, nil)
	})
}

func TestRenewalSaysWhatWasLeftOfEachLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var margins []time.Duration
		store := &faulty{onRenew: first(1, func(_ context.Context, do func() error) error {
			err := do()
			time.Sleep(time.Second) // the answer takes a while
			return err
		})}
		k := newRenewer(t, store, func(r lease.Renewal) {
			require.Len(t, r.Margins, r.Kept)
			margins = append(margins, r.Margins...)
		})
		l := acquire(t, k, claim("job")) // of 15 s, with a margin for the clocks of 0.75 s; renewed after 4.5 s to 5.5 s
		time.Sleep(12 * time.Second)
		synctest.Wait()
		require.NoError(t, l.Settle(t.Context(), "succeeded"))
		require.Len(t, margins, 2)
		require.InDelta(t, 8.25, margins[0].Seconds(), 0.51)
		require.InDelta(t, 9.25, margins[1].Seconds(), 0.51)
	})
}
