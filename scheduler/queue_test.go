package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

var queued = jobs.WithOverlap(jobs.Queue)

// beside returns which runs of a job began while an earlier one had a right to go on.
func (f *fleet) beside(job string) (faults []string) {
	runs := f.runs.of(job)
	for i := 1; i < len(runs); i++ {
		if end := runs[i-1].stopped(); end.IsZero() || end.After(runs[i].start) {
			faults = append(faults, fmt.Sprintf("%s began at %s, beside %s", since(runs[i].Tick), since(runs[i].start), since(runs[i-1].Tick)))
		}
	}
	return faults
}

// grantOf returns the last grant of a tick, by the store's own ledger.
func (f *fleet) grantOf(job string, tick time.Time) *grant {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	grants := f.store.job(job).grants[tick.UnixMilli()]
	require.NotEmpty(f.t, grants, "%s of %s was never granted", since(tick), job)
	return grants[len(grants)-1]
}

// fateOf returns what a tick was settled as, by the store's own ledger.
func (f *fleet) fateOf(job string, tick time.Time) fate {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.store.job(job).fates[tick.UnixMilli()]
}

func at(d time.Duration) time.Time { return epoch.Add(d) }

// TestNewestQueuedTickStartsWhenTheRunEnds compares a day of three replicas with what arithmetic
// says.
func TestNewestQueuedTickStartsWhenTheRunEnds(t *testing.T) {
	const period, takesSo = hour / 6, hour*5/12 + 7*time.Second
	life := 144 * period
	if raceDetected {
		life = 9 * period
	}
	inFleet(t, func(f *fleet) {
		f.job("job", "@every "+period.String(), takes(takesSo), queued)
		f.startMany(3)
		f.sleepTo(life - time.Second)

		var story []string
		skips := 0
		tick, start := period, period
		for start < life {
			text := tick.String()
			if start != tick {
				text += " at " + start.String()
			}
			story = append(story, text)
			start += takesSo
			if newest := start.Truncate(period); start < life {
				skips += int((newest-tick)/period) - 1
				tick = newest
			} else if last := (life - time.Second).Truncate(period); last > tick { // one still waits
				skips += int((last-tick)/period) - 1
			}
		}
		require.Equal(t, strings.Join(story, ", "), f.story("job"))
		require.Equal(t, map[string]int{"skipped newer": skips}, f.passed("job"), "each reported by one replica")
		require.Equal(t, skips, f.fates("job")[wire.Skipped])
		replicas := map[string]bool{}
		for _, run := range f.runs.of("job") {
			replicas[run.Replica] = true
			require.Equal(t, 1, run.Attempt)
		}
		require.Len(t, replicas, 1, "the preferred owner")
	})
}

// TestTakeoverGoesBeforeQueuedTicks, and then what waits starts at once.
func TestTakeoverGoesBeforeQueuedTicks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 30s", firstTakes(time.Hour, 5*time.Second), queued)
		f.startMany(3)
		f.sleepTo(61 * time.Second)
		f.replica(f.runs.running("job")[0].Replica).link.cut()
		f.sleepTo(80 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 3)
		require.Equal(t, 2, runs[1].Attempt)
		require.Equal(t, runs[0].Tick, runs[1].Tick, "first")
		require.WithinDuration(t, at(61*time.Second), runs[1].start, ttl+time.Second)
		require.Equal(t, at(60*time.Second), runs[2].Tick)
		require.Equal(t, runs[1].end, runs[2].start)
	})
}

func TestReleasedTickGoesBeforeQueuedTicks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 30s", firstTakes(time.Hour, 5*time.Second), queued)
		f.startMany(3, scheduler.WithShutdownGrace(0))
		f.sleepTo(61 * time.Second)
		f.halt(f.replica(f.runs.running("job")[0].Replica))
		f.sleepTo(80 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 3)
		require.Equal(t, "30s, 30s at 1m1s #2, 1m0s at 1m6s", f.story("job"))
	})
}

func TestQueuedTickStartsAfterLostTicksLease(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 30s", firstTakes(time.Hour, 5*time.Second), queued, jobs.WithDelivery(jobs.AtMostOnce))
		f.startMany(3)
		f.sleepTo(35 * time.Second)
		first := f.runs.running("job")[0]
		f.sleepTo(61 * time.Second)
		f.replica(first.Replica).link.cut()
		f.sleepTo(67 * time.Second)
		require.Equal(t, protocol.OutcomeLost, f.fateOf("job", first.Tick).outcome)
		next := f.grantOf("job", at(60*time.Second))
		require.WithinDuration(t, at(61*time.Second), next.at, ttl+100*time.Millisecond)
		require.Equal(t, map[string]int{"lost takeovers": 1}, f.passed("job"))
		time.Sleep(hour)
	})
}

func TestMisfiresThatAllRunAreQueued(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(4*time.Second), queued, jobs.WithMisfire(jobs.MisfireAll, 10*time.Second))
		f.startMany(3)
		f.sleepTo(35 * time.Second)
		f.stopAll()
		f.sleepTo(65 * time.Second)
		f.startMany(3)
		f.sleepTo(95 * time.Second)
		require.Equal(t, "10s, 20s, 30s, 40s at 1m5s, 50s at 1m9s, 1m0s at 1m13s, 1m10s at 1m17s, 1m20s at 1m21s, 1m30s", f.story("job"))
		require.Empty(t, f.passed("job"), "what came due meanwhile had its turn as well")
	})
}

func TestTheNewestMisfireWaitsInTheQueue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", firstTakes(0, time.Minute), queued, jobs.WithMisfire(jobs.MisfireLatest, time.Second))
		var cut []*replica
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		cut = f.replicas
		for _, r := range cut {
			r.link.cut()
		}
		f.sleepTo(45 * time.Second)
		f.every((*link).heal)
		f.sleepTo(59 * time.Second)
		require.Equal(t, "10s", f.story("job")[:3])
		runs := f.runs.of("job")
		require.Equal(t, at(40*time.Second), runs[1].Tick, "the newest that was missed")
		require.Equal(t, map[string]int{"missed misfire": 2}, f.passed("job"))
		require.Empty(t, f.beside("job"))
	})
}

// TestTheStoreMayBeAwayWhileOneWaits, at any phase: nothing is lost, and nothing runs beside
// another.
func TestTheStoreMayBeAwayWhileOneWaits(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(14*time.Second), queued)
				f.startMany(3, scheduler.WithTTL(10*time.Second))
				for i := range 20 {
					f.sleepTo(time.Duration(i+1)*time.Minute + time.Duration(i)*731*time.Millisecond)
					f.every(fail)
					time.Sleep(3 * time.Second)
					f.every((*link).heal)
				}
				f.sleepTo(25*time.Minute - time.Second)
				require.Empty(t, f.beside("job"))
				fates := f.fates("job")
				require.LessOrEqual(t, fates[""], 2, "one runs and one waits")
				require.Equal(t, 149, fates["succeeded"]+fates["skipped"]+fates[""])
				require.InDelta(t, 25*60/14, fates["succeeded"], 5, "and little time is lost between two")
				for _, run := range f.runs.of("job") {
					require.Equal(t, 1, run.Attempt, "no run is lost, with a term that is longer")
				}
			})
		})
	}
}

// TestQueuedTickStartsWithoutNotifications: then only the lease's end is known.
func TestQueuedTickStartsWithoutNotifications(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(14*time.Second), queued)
		f.startMany(3)
		f.every(func(l *link) { l.set(func(c call) fault { return fault{cut: c.verb == verbWake} }) })
		f.sleepTo(10 * time.Minute)
		require.Empty(t, f.beside("job"))
		runs := f.runs.of("job")
		for i, run := range runs[1:] {
			require.Less(t, run.start.Sub(runs[i].end), ttl+100*time.Millisecond)
		}
		require.Greater(t, len(runs), 30)
	})
}

// TestTickEndingDuringClaimIsNotAwaited lets answers travel for so long that the run which they
// report has ended meanwhile.
func TestTickEndingDuringClaimIsNotAwaited(t *testing.T) {
	for name, policy := range map[string]jobs.Overlap{"queue": jobs.Queue, "replace": jobs.Replace} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", ignoring(10100*time.Millisecond), jobs.WithOverlap(policy))
				f.startMany(2, scheduler.WithTTL(time.Minute))
				f.sleepTo(15 * time.Second)
				f.every(func(l *link) {
					l.set(func(c call) fault {
						if c.verb == verbClaim {
							return fault{back: 300 * time.Millisecond}
						}
						return fault{}
					})
				})
				f.sleepTo(22 * time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 2)
				require.Less(t, runs[1].start.Sub(runs[0].end), time.Second, "soon, not when the lease would have run out")
				f.every((*link).heal)
				time.Sleep(15 * time.Second)
			})
		})
	}
}

// TestQueuedTickStartsAtOnceAfterAnOutage: only ticks that others held are left to them for a
// moment then.
func TestQueuedTickStartsAtOnceAfterAnOutage(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(14*time.Second), queued)
		r := f.startDisconnected("a", scheduler.WithTTL(time.Minute))
		f.sleepTo(22900 * time.Millisecond)
		r.link.cut()
		f.sleepTo(23300 * time.Millisecond)
		r.link.heal()
		f.sleepTo(29 * time.Second)
		require.Equal(t, "10s, 20s at 24s", f.story("job"))
		downs, _ := eventsWhere(f, storeDown)
		require.Len(t, downs, 1, "there was some")
	})
}

// firstTakes is a handler whose first attempts need so long, and later ones another time.
func firstTakes(first, later time.Duration) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		if run.Attempt == 1 {
			return takes(first)(ctx, run)
		}
		return takes(later)(ctx, run)
	}
}

func TestATickWithinTheGraceIsQueued(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", firstTakes(90*time.Second, 0), queued, jobs.WithMisfire(jobs.MisfireSkip, 10*time.Second))
		a := f.start("a", scheduler.WithShutdownGrace(time.Hour))
		f.sleepTo(119 * time.Second)
		a.stop() // it finishes its run
		f.sleepTo(121 * time.Second)
		f.start("b") // 2m0s is on time
		f.sleepTo(170 * time.Second)
		require.Equal(t, "1m0s, 2m0s at 2m30s", f.story("job"), f.passed("job"))
	})
}

func TestForgottenQueuedTickIsReported(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", firstTakes(14*time.Second, 0), queued)
		f.startMany(2)
		f.sleepTo(21 * time.Second)
		f.store.Forget()
		f.sleepTo(45 * time.Second)
		require.Equal(t, map[string]int{"missed forgotten": 1}, f.passed("job"))
	})
}
