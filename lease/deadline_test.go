package lease_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// With the store out of reach from the start, or from after some renewals, however it is out of
// reach.
func TestContextEndsBeforeTheStoreCouldGrantAgain(t *testing.T) {
	for name, gone := range map[string]fault{"hanging": hangs, "failing": fails, "deaf": func(context.Context, func() error) error {
		time.Sleep(100 * 24 * time.Hour) // a store that does not even obey ctx
		return nil
	}} {
		for _, renewals := range []int64{0, 3} {
			t.Run(fmt.Sprintf("%s after %d renewals", name, renewals), func(t *testing.T) {
				forTerms(t, func(t *testing.T, ttl time.Duration) {
					synctest.Test(t, func(t *testing.T) {
						store := new(faulty)
						var sent time.Time // when the last request that was answered was sent
						slowly := func(_ context.Context, do func() error) error {
							sent = time.Now()
							time.Sleep(ttl / 100)
							err := do()
							time.Sleep(ttl / 100)
							return err
						}
						store.onClaim = slowly
						store.onRenew = firstThen(renewals, slowly, gone)
						c := claim("job")
						c.TTL = ttl
						l := acquire(t, newRenewer(t, store), c)
						store.onClaim = nil
						require.True(t, l.Valid())

						<-l.Context().Done()
						require.Equal(t, sent.Add(ttl-lease.Margin(ttl)), time.Now(), "counted from when the last good request was sent")
						require.Equal(t, sent.Add(ttl-lease.Margin(ttl)), l.Deadline())
						lost, ok := context.Cause(l.Context()).(*lease.LostError)
						require.True(t, ok)
						require.Equal(t, protocol.LostExpired, lost.Reason)
						require.False(t, l.Valid())
						if name == "failing" {
							require.ErrorIs(t, lost, errDown)
						}
						if name == "hanging" && ttl >= 50*time.Millisecond {
							require.ErrorIs(t, lost, context.DeadlineExceeded)
						}

						answer, err := store.Claim(t.Context(), byAnother(c))
						require.NoError(t, err)
						require.Equal(t, protocol.Held, answer.Status, "the store still has it, for %s", answer.Remaining)
						require.GreaterOrEqual(t, answer.Remaining, lease.Margin(ttl))
						time.Sleep(answer.Remaining)
						answer, err = store.Claim(t.Context(), byAnother(c))
						require.NoError(t, err)
						require.Equal(t, protocol.Granted, answer.Status)
						require.Greater(t, answer.Token, l.Token())
					})
				})
			})
		}
	}
}

func TestMarginCoversClocksThatDiffer(t *testing.T) {
	for _, ttl := range append(ttls, 24*time.Hour, 10000*time.Hour) {
		margin := lease.Margin(ttl)
		require.GreaterOrEqual(t, margin, ttl/1000, "the worst of clocks is not a thousandth off")
		require.LessOrEqual(t, margin, ttl/20, "the holder shall have most of its lease")
	}
}

func TestValidIsFalseFromTheDeadlineOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onRenew: hangs}
		// The observer holds up the goroutine on which the second lease would end.
		k := newRenewer(t, store, func(r lease.Renewal) {
			if len(r.Expired) > 0 {
				time.Sleep(time.Hour)
			}
		})
		l := acquire(t, k, claim("job"))
		deadline := l.Deadline()
		time.Sleep(time.Until(deadline) - 1)
		require.True(t, l.Valid())
		time.Sleep(time.Nanosecond) // the renewer's timer fires now, but no goroutine that it starts has to have run
		require.False(t, l.Valid())
		<-l.Context().Done()
		require.Equal(t, deadline, time.Now())
	})
}

// A reading of the clock is all that Valid needs: while nobody can fire a timer it is right all the
// same.
func TestValidIsFalseBeforeTheRenewerNotices(t *testing.T) {
	suspend := lease.Suspendable(t)
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, newRenewer(t, &faulty{onRenew: hangs}), claim("job"))
		suspend(15*time.Second - lease.Margin(15*time.Second) - 1)
		require.True(t, l.Valid())
		suspend(1)
		require.NoError(t, l.Context().Err(), "not noticed yet")
		require.False(t, l.Valid())
		<-l.Context().Done()
	})
}

func TestDeadlineIsNeverLaterThanTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(faulty)
		k := newRenewer(t, store)
		l := acquire(t, k, claim("job"))
		last := l.Deadline()
		for range 1000 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			record, err := store.Inspect(t.Context(), "job")
			require.NoError(t, err)
			ends := time.Now().Add(record.Open[0].Remaining)
			deadline := l.Deadline()
			require.False(t, deadline.Add(lease.Margin(15*time.Second)).After(ends), "%s is too near %s", deadline, ends)
			require.False(t, deadline.Before(last), "it steps back")
			last = deadline
		}
		k.Close()
	})
}

func TestDeadlineDoesNotWander(t *testing.T) {
	k := newRenewer(t, new(faulty))
	defer k.Close()
	c := claim("job")
	c.TTL = time.Hour
	l := acquire(t, k, c)
	deadline := l.Deadline()
	for range 100_000 {
		require.True(t, deadline.Equal(l.Deadline()))
	}
}

func TestRepeatedClaimBeginsItsLeaseAgain(t *testing.T) {
	for _, remaining := range []time.Duration{15 * time.Second, 10 * time.Second, 4 * time.Second, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			// A renewal that is due at once must not be answered before the test has read the deadline. The
			// bubble's clock stands still until then.
			store := &faulty{onRenew: answersAfter(time.Millisecond)}
			c := claim("job")
			c.Request = "once"
			_, err := store.Claim(t.Context(), c) // the reply is lost
			require.NoError(t, err)
			time.Sleep(c.TTL - remaining)

			k := newRenewer(t, store)
			l := acquire(t, k, c)
			require.Equal(t, time.Now().Add(c.TTL-lease.Margin(c.TTL)), l.Deadline())
			time.Sleep(time.Minute)
			requireHeld(t, l)
			k.Close()
		})
	}
}

func TestLeaseExpiredOnArrivalIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{onClaim: answersAfter(20 * time.Second)}
		l := acquire(t, newRenewer(t, store), claim("job"))
		require.False(t, l.Valid())
		synctest.Wait()
		requireLost(t, l, protocol.LostExpired, nil)
	})
}

func TestSuspensionOfTheMachineEndsALease(t *testing.T) {
	suspend := lease.Suspendable(t)
	for name, test := range map[string]struct {
		suspended time.Duration
		lost      bool
	}{
		"10 minutes": {10 * time.Minute, true},
		"a moment":   {time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRenewer(t, new(faulty))
				defer k.Close()
				l := acquire(t, k, claim("job"))
				time.Sleep(time.Second)
				before := l.Deadline()
				suspend(test.suspended)
				if !test.lost {
					require.Equal(t, before.Add(-test.suspended), l.Deadline(), "time went by")
					time.Sleep(time.Minute)
					requireHeld(t, l)
					return
				}
				require.False(t, l.Valid(), "at once")
				woken := time.Now()
				<-l.Context().Done()
				require.LessOrEqual(t, time.Since(woken), 250*time.Millisecond)
				requireLost(t, l, protocol.LostExpired, nil)
			})
		})
	}
}

func TestLeaseIsNeverValidBeyondWhatBoundsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := acquire(t, newRenewer(t, new(faulty)), claim("job")) // of 15 s
		began := time.Now()
		l.Within(began.Add(9 * time.Second))
		require.Equal(t, began.Add(9*time.Second), l.Deadline())
		var told []time.Duration
		stop := l.OnRenewal(func(deadline time.Time) { told = append(told, deadline.Sub(began)) })
		defer stop()
		time.Sleep(8 * time.Second)
		require.Equal(t, began.Add(9*time.Second), l.Deadline(), "renewed, and bounded")
		l.Within(began.Add(12 * time.Second))
		l.Within(began.Add(10 * time.Second))
		synctest.Wait()
		require.Equal(t, began.Add(12*time.Second), l.Deadline(), "no call moves it back")
		require.Equal(t, []time.Duration{12 * time.Second}, told, "what keeps the deadline elsewhere hears of it")
		<-l.Context().Done()
		require.Equal(t, 12*time.Second, time.Since(began))
		require.ErrorIs(t, context.Cause(l.Context()), lease.ErrLost)
	})
}
