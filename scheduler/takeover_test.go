package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

// grantsOf returns a tick's grants by the store's ledger.
func (f *fleet) grantsOf(job string, tick time.Time) (list []grant) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for _, g := range f.store.job(job).grants[tick.UnixMilli()] {
		list = append(list, *g)
	}
	return list
}

func TestTickIsTakenOverWithinTTLAndSecond(t *testing.T) {
	for name, handler := range map[string]jobs.Handler{
		"of a holder that vanishes":             takes(20 * time.Second),
		"of a holder whose run does not listen": ignoring(20 * time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", handler)
				f.startMany(3)
				const times = 12
				for i := range times {
					f.sleepTo(time.Duration(i+1)*time.Minute + time.Duration(i)*370*time.Millisecond)
					held := f.runs.running("job")
					require.Len(t, held, 1)
					f.replica(held[0].Replica).link.cut()

					time.Sleep(ttl + time.Second)
					grants := f.grantsOf("job", held[0].Tick)
					require.Len(t, grants, 2)
					late := grants[1].at.Sub(grants[0].renewed)
					require.GreaterOrEqual(t, late, ttl)
					require.LessOrEqual(t, late, ttl+time.Second)
					require.NotEqual(t, grants[0].holder, grants[1].holder)
					f.replica(held[0].Replica).link.heal()
				}
				time.Sleep(30 * time.Second)
				for i, a := range f.runs.of("job") {
					require.Equal(t, i%2+1, a.Attempt)
					if a.Attempt == 1 {
						lost, ok := a.cause.(*lease.LostError)
						require.True(t, ok, "%v", a.cause)
						require.Equal(t, protocol.LostExpired, lost.Reason)
						require.ErrorIs(t, lost.LastErr, errCut)
					}
				}
				require.Equal(t, map[protocol.Outcome]int{"succeeded": times}, f.fates("job"))
			})
		})
	}
}

// TestHolderThatIsBackTooLateIsFenced lets a holder come back, and its run return without an error,
// while another runs the tick, and after that has ended too.
func TestHolderThatIsBackTooLateIsFenced(t *testing.T) {
	for _, back := range []time.Duration{8 * time.Second, 40 * time.Second} {
		t.Run(fmt.Sprint("after ", back), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", ignoring(10*time.Second))
				f.startMany(3)
				f.sleepTo(61 * time.Second)
				held := f.runs.running("job")[0]
				f.replica(held.Replica).link.hang()
				time.Sleep(back)
				f.replica(held.Replica).link.heal()
				f.sleepTo(119 * time.Second)

				lost, _ := eventsOf[scheduler.RunLost](f)
				require.Len(t, lost, 1)
				require.ErrorIs(t, lost[0].Cause, protocol.ErrFenced)
				require.Equal(t, 1, lost[0].Run.Attempt)
				settled, _ := eventsOf[scheduler.RunSettled](f)
				require.Len(t, settled, 1)
				require.Equal(t, 2, settled[0].Run.Attempt)
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
			})
		})
	}
}

func TestAtMostOnceIsNeverRunTwice(t *testing.T) {
	for name, handler := range map[string]jobs.Handler{
		"of a holder that vanishes":             takes(20 * time.Second),
		"of a holder whose run does not listen": ignoring(20 * time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", handler, jobs.WithDelivery(jobs.AtMostOnce))
				f.startMany(3)
				f.sleepTo(61 * time.Second)
				held := f.runs.running("job")
				require.Len(t, held, 1)
				f.replica(held[0].Replica).link.cut()
				f.sleepTo(100 * time.Second)
				f.replica(held[0].Replica).link.heal()
				f.sleepTo(119 * time.Second)

				require.Equal(t, "1m0s", f.story("job"))
				require.Equal(t, map[protocol.Outcome]int{"lost": 1}, f.fates("job"))
				require.Equal(t, map[string]int{"lost takeovers": 1}, f.passed("job"), "by one of those that were there")
				f.sleepTo(125 * time.Second)
				require.Equal(t, "1m0s, 2m0s", f.story("job"))
			})
		})
	}
}

func TestATickIsLostAfterItsMostTakeovers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 3m", takes(2*time.Minute), jobs.WithMaxTakeovers(2))
		f.startMany(4)
		f.sleepTo(3 * time.Minute)
		for range 3 {
			held := f.runs.running("job")
			require.Len(t, held, 1)
			f.replica(held[0].Replica).link.cut()
			time.Sleep(2 * ttl)
		}
		require.Equal(t, map[protocol.Outcome]int{"lost": 1}, f.fates("job"))
		require.Equal(t, map[string]int{"lost takeovers": 1}, f.passed("job"))
		time.Sleep(150 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 3)
		for i, run := range runs {
			require.Equal(t, i+1, run.Attempt)
		}
	})
}

func TestLeaseLossCancelsBeforeOthersAreGranted(t *testing.T) {
	for _, ttl := range []time.Duration{100 * time.Millisecond, time.Second, 15 * time.Second, 10 * time.Minute} {
		for name, fail := range map[string]func(*link){"cut": (*link).cut, "hang": (*link).hang} {
			t.Run(fmt.Sprint(name, " ", ttl), func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					period := max(time.Minute, 4*ttl)
					f.job("job", "@every "+period.String(), takes(period-time.Second))
					f.startMany(3, scheduler.WithTTL(ttl))
					f.sleepTo(period + ttl*5/3)
					held := f.runs.running("job")
					require.Len(t, held, 1)
					fail(f.replica(held[0].Replica).link)
					time.Sleep(ttl + time.Second)

					runs := f.runs.of("job")
					require.Len(t, runs, 2)
					require.ErrorIs(t, runs[0].cause, lease.ErrLost)
					grants := f.grantsOf("job", held[0].Tick)
					require.Len(t, grants, 2)
					require.GreaterOrEqual(t, grants[1].at.Sub(runs[0].cancelled), min(ttl/20, time.Second), "a margin for late timers")
					require.GreaterOrEqual(t, runs[0].cancelled.Sub(grants[0].renewed), ttl/2, "no renewal that could still be made is given up")
				})
			})
		}
	}
}

// TestLeaseCountsFromWhenItsClaimWasSent: the store granted it before the answer came.
func TestLeaseCountsFromWhenItsClaimWasSent(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(8*time.Second))
		r := f.start("a")
		f.sleepTo(5 * time.Second)
		r.link.set(func(c call) fault { return fault{cut: c.verb == verbRenew, back: 700 * time.Millisecond} })
		f.sleepTo(18 * time.Second)
		runs := f.runs.of("job")
		grants := f.grantsOf("job", runs[0].Tick)
		require.GreaterOrEqual(t, runs[0].start.Sub(grants[0].at), 700*time.Millisecond)
		require.ErrorIs(t, runs[0].cause, lease.ErrLost)
		require.LessOrEqual(t, runs[0].cancelled.Sub(grants[0].at), ttl-ttl/20)
	})
}

func TestTickIsTakenOverByLaterReplica(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10m", takes(5*time.Minute))
		first := f.start("first")
		f.sleepTo(11 * time.Minute)
		first.link.cut()
		time.Sleep(2 * ttl)
		f.start("second")
		time.Sleep(protocol.ReturnGrace(ttl) - 100*time.Millisecond)
		require.Empty(t, f.runs.running("job"), "the store may have been away, and the first may be about to settle")
		time.Sleep(time.Second)
		require.Len(t, f.runs.running("job"), 1)
		require.Equal(t, "second", f.runs.running("job")[0].Replica)
		f.sleepTo(19 * time.Minute)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
	})
}
