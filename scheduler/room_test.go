package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// runsBy counts the runs of each replica.
func (f *fleet) runsBy() map[string]int {
	counts := map[string]int{}
	for _, a := range f.runs.of("") {
		counts[a.Replica]++
	}
	return counts
}

func TestFullReplicaLeavesTicksToOthers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 12 {
			f.job(fmt.Sprintf("job-%02d", i), "* * * * *", takes(5*time.Second))
		}
		f.start("a", scheduler.WithMaxRuns(2))
		f.start("b", scheduler.WithMaxRuns(4))
		f.start("c", scheduler.WithMaxRuns(6))
		f.sleepTo(70 * time.Second)
		require.Equal(t, map[string]int{"a": 2, "b": 4, "c": 6}, f.runsBy())
		for _, a := range f.runs.of("") {
			require.Less(t, a.start.Sub(a.Tick), 100*time.Millisecond, "no backup waits for a full owner")
		}
		for _, r := range f.replicas {
			require.Equal(t, 0, r.Capacity().Used, "room is given back")
			require.Equal(t, 0, r.Capacity().Waiting)
		}
	})
}

// fullReports starts to count the reports of owners that have no room.
func (f *fleet) fullReports() (count func() int) {
	var n atomic.Int64
	go func() {
		_ = f.store.Subscribe(f.t.Context(), func(message []byte) { n.Add(int64(strings.Count(string(message), "\nf "))) })
	}()
	return func() int { return int(n.Load()) }
}

func TestWhoCanNeverRunAJobOwnsItNot(t *testing.T) {
	inFleet(t, func(f *fleet) {
		reports := f.fullReports()
		for i := range 12 {
			f.job(fmt.Sprintf("heavy-%02d", i), fmt.Sprintf("%d * * * * *", 5*i), takes(time.Second), jobs.WithWeight(4))
		}
		f.start("a", scheduler.WithMaxRuns(2))
		f.start("b", scheduler.WithMaxRuns(3))
		f.start("c", scheduler.WithMaxRuns(8))
		f.sleepTo(2*time.Minute + 59*time.Second)
		runs := f.runs.of("")
		require.Len(t, runs, 35)
		for _, a := range runs {
			require.Equal(t, a.Tick, a.start.UTC(), a.Job)
		}
		require.Zero(t, reports(), "the owner has room")
	})
}

func TestFullOwnerPassesItsTicksOn(t *testing.T) {
	for name, start := range map[string]func(f *fleet, tick time.Duration) time.Duration{
		"on schedule": func(_ *fleet, tick time.Duration) time.Duration { return tick },
		"triggered": func(f *fleet, tick time.Duration) time.Duration {
			f.sleepTo(tick + 3*time.Second)
			return f.trigger("job").Sub(epoch)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "0 * * * * *", takes(0))
				replicas := f.startMany(3, scheduler.WithMaxRuns(1))
				f.sleepTo(61 * time.Second)
				owner := f.owner("job")
				busy := f.newJob("busy", "@at 2000-01-01T00:01:50Z", takes(time.Minute), jobs.WithDelivery(jobs.AtMostOnce))
				require.NoError(t, owner.Add(busy))
				tick := start(f, 2*time.Minute)
				f.sleepTo(tick + 2*time.Second)
				runs := f.runsOf("job", at(tick))
				require.Len(t, runs, 1)
				require.NotEqual(t, owner.Replica(), runs[0].Replica)
				require.Less(t, runs[0].start.Sub(runs[0].Tick), 50*time.Millisecond)
				require.Len(t, replicas, 3)
			})
		})
	}
}

func TestLostReportOfAFullOwnerCostsABackupsWait(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 12 {
			f.job(fmt.Sprintf("job-%02d", i), "* * * * *", takes(5*time.Second))
		}
		for i, id := range []string{"a", "b", "c"} {
			r := f.start(id, scheduler.WithMaxRuns(2*i+2))
			r.link.set(func(c call) fault { return fault{cut: c.verb == verbReceive} })
		}
		f.sleepTo(70 * time.Second)
		require.Equal(t, map[string]int{"a": 2, "b": 4, "c": 6}, f.runsBy())
		for _, a := range f.runs.of("") {
			require.LessOrEqual(t, a.start.Sub(a.Tick), time.Second)
		}
	})
}

func TestPausedTickNeedsNoRoom(t *testing.T) {
	for _, misfire := range []jobs.Misfire{jobs.MisfireSkip, jobs.MisfireLatest, jobs.MisfireAll} {
		t.Run(string(misfire), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("long", "@at 2000-01-01T00:00:15Z", takes(10*time.Minute), jobs.WithDelivery(jobs.AtMostOnce))
				f.job("other", "@at 2000-01-01T00:00:15Z", takes(10*time.Minute), jobs.WithDelivery(jobs.AtMostOnce))
				f.job("paused", "* * * * *", takes(0), jobs.WithMisfire(misfire, time.Second))
				f.startMany(2, scheduler.WithMaxRuns(1))
				f.sleepTo(30 * time.Second)
				f.pause("paused")
				f.sleepTo(3*time.Minute + 500*time.Millisecond)
				require.Equal(t, map[string]int{"skipped paused": 3}, f.passed("paused"))
				require.Equal(t, map[protocol.Outcome]int{"skipped": 3}, f.fates("paused"))
				f.resume("paused")
				f.sleepTo(4*time.Minute + 20*time.Second)
				require.Empty(t, f.runs.of("paused"), "now it needs some")
				for _, r := range f.replicas {
					require.Equal(t, scheduler.Capacity{MaxRuns: 1, Used: 1, Waiting: r.Capacity().Waiting}, r.Capacity())
				}
			})
		})
	}
}

// TestReplacingTickHasTheRoomOfTheReplaced, and no more, while others wait for room.
func TestReplacingTickHasTheRoomOfTheReplaced(t *testing.T) {
	inFleet(t, func(f *fleet) {
		heavy := jobs.WithWeight(3)
		f.job("first", "*/10 * * * * *", takes(time.Hour), replacing, heavy)
		f.job("second", "*/10 * * * * *", func(ctx context.Context, run jobs.Run) error {
			_ = takes(time.Hour)(ctx, run)
			time.Sleep(100 * time.Millisecond) // it saves what it has
			return context.Cause(ctx)
		}, replacing, heavy)
		f.job("other", "5 1-59 * * * *", takes(0), heavy, jobs.WithMisfire(jobs.MisfireSkip, 50*time.Second))
		f.start("a", scheduler.WithMaxRuns(6))
		f.sleepTo(5*time.Minute + 5*time.Second)
		require.Equal(t, 6, f.heaviest("a"))
		for job, late := range map[string]time.Duration{"first": 0, "second": 100 * time.Millisecond} {
			runs := f.runs.of(job)
			require.Len(t, runs, 30)
			for _, a := range runs[1:] {
				require.Equal(t, late, a.start.Sub(a.Tick), "%s at %s", job, since(a.Tick))
			}
		}
		require.Empty(t, f.runs.of("other"), "there is never room for it")
	})
}

func TestTickWaitsForRoomWithinItsGrace(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 6 {
			f.job(fmt.Sprintf("job-%d", i), "* * * * *", takes(4*time.Second))
		}
		f.startMany(2, scheduler.WithMaxRuns(1))
		f.sleepTo(90 * time.Second)
		starts := map[time.Duration]int{}
		for _, a := range f.runs.of("") {
			starts[a.start.Sub(epoch).Truncate(time.Second)]++
		}
		require.Equal(t, map[time.Duration]int{60 * time.Second: 2, 64 * time.Second: 2, 68 * time.Second: 2}, starts)
		require.Equal(t, 1, f.heaviest("a"))
		require.Equal(t, 1, f.heaviest("b"))
	})
}

func TestTickThatNobodyHasRoomForMisfires(t *testing.T) {
	for misfire, test := range map[jobs.Misfire]struct {
		late    string
		passed  map[string]int
		reached int
	}{
		jobs.MisfireSkip:   {"", map[string]int{"missed capacity": 3}, 3},
		jobs.MisfireLatest: {"3m0s at 3m15s", map[string]int{"missed capacity": 2}, 1},
		jobs.MisfireAll:    {"1m0s at 3m15s, 2m0s at 3m15s, 3m0s at 3m15s", map[string]int{}, 1},
	} {
		t.Run(string(misfire), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("late", "* * * * *", takes(0), jobs.WithMisfire(misfire, 10*time.Second))
				f.job("long", "@at 2000-01-01T00:00:15Z", takes(3*time.Minute))
				f.start("a", scheduler.WithMaxRuns(1))
				f.sleepTo(200 * time.Second)
				require.Equal(t, test.late, f.story("late"))
				require.Equal(t, test.passed, f.passed("late"))
				reached, _ := eventsWhere(f, func(e scheduler.CapacityChanged) bool { return e.Full })
				require.Len(t, reached, test.reached)
				require.Equal(t, scheduler.Capacity{MaxRuns: 1, Used: 1, Waiting: 1}, reached[0].Capacity)
				f.sleepTo(230 * time.Second)
				freed, _ := eventsWhere(f, func(e scheduler.CapacityChanged) bool { return !e.Full })
				require.Len(t, freed, test.reached)
			})
		})
	}
}

func TestHeavyTickIsNotStarvedByLightOnes(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("heavy", "0 * * * * *", takes(time.Second), jobs.WithWeight(3), jobs.WithMisfire(jobs.MisfireSkip, 10*time.Second))
		for i := range 4 {
			f.job(fmt.Sprintf("light-%d", i), fmt.Sprintf("%d/4 * * * * *", i), takes(2500*time.Millisecond)) // two or three at any time
		}
		f.start("a", scheduler.WithMaxRuns(3))
		f.sleepTo(5*time.Minute + 30*time.Second)
		require.Len(t, f.runs.of("heavy"), 5)
		require.Empty(t, f.passed("heavy"))
		for i := range 4 {
			require.NotContains(t, f.passed(fmt.Sprintf("light-%d", i)), "missed capacity")
		}
		require.Equal(t, 3, f.heaviest("a"))
	})
}

func TestOverlapDecidesBeforeCapacity(t *testing.T) {
	for overlap, story := range map[jobs.Overlap]string{
		jobs.Forbid:  "1m0s, 3m0s",
		jobs.Queue:   "1m0s, 2m0s at 2m20s, 3m0s at 3m40s",
		jobs.Replace: "1m0s, 2m0s, 3m0s",
	} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", takes(80*time.Second), jobs.WithOverlap(overlap), jobs.WithMisfire(jobs.MisfireSkip, 5*time.Second))
				f.start("a", scheduler.WithMaxRuns(1))
				f.sleepTo(230 * time.Second)
				require.Equal(t, story, f.story("job"))
				require.NotContains(t, f.passed("job"), "missed capacity")
			})
		})
	}
}

func TestFullReplicaTakesNothingOver(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", takes(40*time.Second))
		f.job("other", "30 * * * * *", takes(25*time.Second))
		f.start("a", scheduler.WithMaxRuns(1))
		f.sleepTo(65 * time.Second)
		require.Len(t, f.runs.running("job"), 1)
		f.start("b", scheduler.WithMaxRuns(1))
		f.sleepTo(92 * time.Second)
		require.Len(t, f.runs.running("other"), 1)
		require.Equal(t, "b", f.runs.running("other")[0].Replica)
		f.replica("a").link.cut()

		f.sleepTo(114 * time.Second)
		require.Len(t, f.runs.of("job"), 1, "b is full")
		f.sleepTo(116 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 2)
		require.Equal(t, "b", runs[1].Replica)
		require.Equal(t, 115*time.Second, runs[1].start.Sub(epoch), "at once when there is room")
		require.Equal(t, 2, runs[1].Attempt)
		f.replica("a").link.heal()
	})
}

func TestTriggeredTicksWaitForRoom(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("long", "* * * * *", takes(20*time.Second))
		f.job("job", "@every 24h", takes(time.Second))
		f.start("a", scheduler.WithMaxRuns(1))
		f.sleepTo(65 * time.Second)
		_, err := f.store.Trigger(context.Background(), protocol.Trigger{Name: "job", By: "ops", Request: "r1"})
		require.NoError(t, err)
		f.sleepTo(79 * time.Second)
		require.Empty(t, f.runs.of("job"))
		f.sleepTo(81 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 1)
		require.Equal(t, 80*time.Second, runs[0].start.Sub(epoch))
	})
}

func TestLostRunKeepsItsRoomUntilItEnds(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("deaf", "@at 2000-01-01T00:01:00Z", ignoring(30*time.Second), jobs.WithDelivery(jobs.AtMostOnce))
		f.job("job", "@at 2000-01-01T00:01:20Z", takes(0), jobs.WithMisfire(jobs.MisfireSkip, 20*time.Second))
		r := f.start("a", scheduler.WithMaxRuns(1))
		f.sleepTo(61 * time.Second)
		r.link.cut()
		f.sleepTo(70 * time.Second)
		r.link.heal()
		require.Equal(t, 1, r.Capacity().Used, "the handler ignores that the lease is lost")
		f.sleepTo(100 * time.Second)
		require.Equal(t, "1m20s at 1m30s", f.story("job"))
	})
}

func TestJobAboveEveryMaxRunsDelaysNoOther(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("giant", "* * * * *", takes(0), jobs.WithWeight(3))
		f.job("job", "* * * * *", takes(0), jobs.WithWeight(2))
		f.startMany(2, scheduler.WithMaxRuns(2))
		f.sleepTo(150 * time.Second)
		require.Empty(t, f.runs.of("giant"))
		require.Equal(t, map[string]int{"missed capacity": 1}, f.passed("giant"))
		require.Equal(t, "1m0s, 2m0s", f.story("job"))
	})
}

func TestHeavyTickThatRunsElsewhereHoldsUpNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("long", "@at 2000-01-01T00:00:30Z", takes(time.Hour), jobs.WithDelivery(jobs.AtMostOnce))
		a := f.start("a", scheduler.WithMaxRuns(3))
		f.sleepTo(40 * time.Second)
		f.job("heavy", "@at 2000-01-01T00:01:00Z", takes(0), jobs.WithWeight(3))
		f.job("light", "1 * * * * *", takes(0))
		registry := new(jobs.Registry)
		for _, j := range f.jobs {
			require.NoError(t, registry.Add(j))
		}
		a.Update(registry)
		f.sleepTo(62 * time.Second)
		require.Empty(t, f.runs.of("light"), "behind the heavy one")

		f.startWith("b", f.jobs[1:2], scheduler.WithMaxRuns(3))
		f.sleepTo(65 * time.Second)
		require.Equal(t, "b", f.runs.of("heavy")[0].Replica)
		light := f.runs.of("light")
		require.Len(t, light, 1)
		require.Equal(t, "a", light[0].Replica)
		require.LessOrEqual(t, light[0].start.Sub(f.runs.of("heavy")[0].start), 2*time.Second)
	})
}

func TestReplicasOfOneSizeShareTicksThatWait(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 60 {
			f.job(fmt.Sprintf("job-%02d", i), "* * * * *", takes(500*time.Millisecond))
		}
		f.startMany(3, scheduler.WithMaxRuns(2))
		f.start("big", scheduler.WithMaxRuns(4))
		f.sleepTo(80 * time.Second)
		by := f.runsBy()
		for replica, share := range map[string]int{"a": 12, "b": 12, "c": 12, "big": 24} {
			require.InDelta(t, share, by[replica], 3, "of %v", by) // a quarter of the least: the order in which goroutines run differs
		}
		for _, a := range f.runs.of("") {
			require.LessOrEqual(t, a.start.Sub(a.Tick), 3*time.Second)
		}
	})
}
