package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// dueLate is a job whose ticks jitter may shift by as much as it can.
const dueLate = "job"

func shifted(period time.Duration) jobs.Option { return jobs.WithJitter(period - time.Second) }

// tickDueLate returns the first tick, after a time, that is due between least and most later.
func tickDueLate(after, period, least, most time.Duration) (tick, due time.Duration) {
	for tick = after.Truncate(period) + period; ; tick += period {
		at := time.UnixMilli(wire.Due(dueLate, at(tick).UnixMilli(), period-time.Second)).Sub(epoch)
		if least <= at-tick && at-tick <= most {
			return tick, at
		}
	}
}

// runsAt holds that the tick ran when it was due.
func (f *fleet) runsAt(tick, due time.Duration) {
	f.t.Helper()
	f.sleepTo(due + 3*time.Second)
	runs := f.runsOf(dueLate, at(tick))
	require.Len(f.t, runs, 1)
	require.Equal(f.t, due.String(), since(runs[0].start))
}

func TestPauseOfASecondLosesNothingDueLater(t *testing.T) {
	for name, period := range map[string]time.Duration{"seconds of jitter": 20 * time.Second, "an hour of jitter": hour} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job(dueLate, "@every "+period.String(), takes(0), shifted(period))
				f.startMany(2)
				tick, due := tickDueLate(period, period, period/4, period)
				f.sleepTo(tick + time.Second)
				f.pause(dueLate)
				f.sleepTo(tick + 2*time.Second)
				f.resume(dueLate)
				f.runsAt(tick, due)
				require.Empty(t, f.passed(dueLate))
			})
		})
	}
}

// A tick whose instant was before a pause, and which jitter makes due during it, is skipped.
func TestTickDueInAPauseIsSkipped(t *testing.T) {
	for _, down := range []bool{false, true} {
		for _, misfire := range []jobs.Misfire{jobs.MisfireSkip, jobs.MisfireAll} {
			t.Run(fmt.Sprint(misfire, ", nobody there: ", down), func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					const period = 20 * time.Second
					f.job(dueLate, "@every 20s", takes(0), shifted(period), jobs.WithMisfire(misfire, time.Second))
					f.startMany(2)
					tick, due := tickDueLate(period, period, 5*time.Second, 10*time.Second)
					f.sleepTo(tick + 2*time.Second)
					f.pause(dueLate)
					if down {
						f.stopAll()
					}
					f.sleepTo(due + time.Second)
					f.resume(dueLate)
					f.sleepTo(due + 3*time.Second)
					if down {
						f.startMany(2)
					}
					f.sleepTo(tick + 2*period)
					require.Empty(t, f.runsOf(dueLate, at(tick)))
					require.Len(t, f.runsOf(dueLate, at(tick+period)), 1)
					require.Equal(t, protocol.OutcomeSkipped, f.store.job(dueLate).fate(at(tick).UnixMilli()))
					require.Equal(t, map[string]int{"skipped paused": 1}, f.passed(dueLate))
				})
			})
		}
	}
}

func TestALossLeavesAloneWhatIsDueLater(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const period = 20 * time.Second
		f.job(dueLate, "@every 20s", takes(0), shifted(period))
		f.startMany(2)
		tick, due := tickDueLate(period, period, 9*time.Second, 19*time.Second)
		f.sleepTo(due - 8*time.Second)
		f.store.Forget()
		f.runsAt(tick, due)
		require.Empty(t, f.passed(dueLate))
	})
}

// TestATriggeredRunAtALossLeavesAloneWhatIsDueLater has a run write itself back after the loss whose
// tick is later than one that jitter makes due after it.
func TestATriggeredRunAtALossLeavesAloneWhatIsDueLater(t *testing.T) {
	for name, down := range map[string]bool{"the record is made first": false, "the run writes itself back first": true} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				const period = 20 * time.Second
				f.job(dueLate, "@every 20s", takes(6*time.Second), shifted(period), jobs.WithOverlap(jobs.Allow))
				f.startMany(2)
				tick, due := tickDueLate(period, period, 12*time.Second, 19*time.Second)
				f.sleepTo(due - 8*time.Second)
				f.trigger(dueLate)
				f.sleepTo(due - 7*time.Second)
				if down { // nobody makes the record before
					for _, r := range f.replicas {
						r.link.set(func(c call) fault { return fault{cut: c.verb == verbSync} })
					}
				}
				f.store.Forget()
				f.sleepTo(due - 4*time.Second)
				for _, r := range f.replicas {
					r.link.heal()
				}
				f.runsAt(tick, due)
				require.Empty(t, f.passed(dueLate))
			})
		})
	}
}

func TestADeployLeavesAloneWhatIsDueLater(t *testing.T) {
	const period = 20 * time.Second
	tick, due := tickDueLate(2*period, period, 9*time.Second, 19*time.Second)
	t.Run("of a new job", func(t *testing.T) {
		inFleet(t, func(f *fleet) {
			f.job("other", "@every 1s", takes(0))
			a := f.startMany(2)
			f.sleepTo(due - 5*time.Second)
			f.job(dueLate, "@every 20s", takes(0), shifted(period))
			for _, r := range a {
				require.NoError(t, r.Add(f.jobs[1]))
			}
			f.runsAt(tick, due)
		})
	})
	t.Run("of another schedule", func(t *testing.T) {
		inFleet(t, func(f *fleet) {
			f.startWith("a", []*jobs.Job{f.newJob(dueLate, "@every 40s", takes(0), shifted(2*period))})
			f.job(dueLate, "@every 20s", takes(0), shifted(period))
			f.sleepTo(due - 5*time.Second)
			f.halt(f.replica("a"))
			f.start("b")
			f.runsAt(tick, due)
		})
	})
}
