package scheduler_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func TestTriggeredJobRunsOnceAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10m", takes(2*time.Second))
		f.startMany(3)
		for i := range 50 {
			f.sleepTo(time.Duration(i+1)*10*time.Second + 137*time.Millisecond)
			tick := f.trigger("job")
			time.Sleep(5 * time.Second)
			runs := f.runsOf("job", tick)
			require.Len(t, runs, 1)
			require.Equal(t, tick, runs[0].start.UTC(), "at once")
			require.Equal(t, 1, runs[0].Attempt)
			require.Equal(t, wire.Succeeded, f.fateOf("job", tick).outcome)
		}
		require.Len(t, f.runs.of("job"), 50)
		f.sleepTo(11 * time.Minute)
		require.Len(t, f.runs.of("job"), 51, "and the schedule goes on")
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
	})
}

func TestTriggeredTickObeysTheOverlapPolicy(t *testing.T) {
	for overlap, want := range map[jobs.Overlap]string{
		jobs.Forbid:  "1m0s, 1m5.5s at 1m20s",
		jobs.Queue:   "1m0s, 1m5.5s at 1m20s",
		jobs.Allow:   "1m0s, 1m5.5s",
		jobs.Replace: "1m0s, 1m5.5s",
	} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", takes(20*time.Second), jobs.WithOverlap(overlap))
				f.startMany(3)
				f.sleepTo(65500 * time.Millisecond)
				tick := f.trigger("job")
				f.sleepTo(119 * time.Second)
				require.Equal(t, want, f.story("job"))
				require.Equal(t, wire.Succeeded, f.fateOf("job", tick).outcome)
				first := wire.Succeeded
				if overlap == jobs.Replace {
					first = wire.Replaced
				}
				require.Equal(t, first, f.fateOf("job", at(time.Minute)).outcome)
				require.Empty(t, f.passed("job"))
			})
		})
	}
}

// TestTickObeysOverlapWhileTriggeredOneRuns: it is a run of the job like any other.
func TestTickObeysOverlapWhileTriggeredOneRuns(t *testing.T) {
	for overlap, want := range map[jobs.Overlap]string{
		jobs.Forbid:  "50.5s, 2m0s",
		jobs.Queue:   "50.5s, 1m0s at 1m10.5s, 2m0s",
		jobs.Allow:   "50.5s, 1m0s, 2m0s",
		jobs.Replace: "50.5s, 1m0s, 2m0s",
	} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", takes(20*time.Second), jobs.WithOverlap(overlap))
				f.startMany(3)
				f.sleepTo(50500 * time.Millisecond)
				f.trigger("job")
				f.sleepTo(125 * time.Second)
				require.Equal(t, want, f.story("job"))
			})
		})
	}
}

func TestAPausedJobRunsWhenItIsTriggered(t *testing.T) {
	for name, options := range map[string][]jobs.Option{"by the fleet": nil, "by its configuration": {pausedByConfig}} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(time.Second), options...)
				f.startMany(3)
				f.sleepTo(5 * time.Second)
				if options == nil {
					f.pause("job")
				}
				f.sleepTo(12500 * time.Millisecond)
				f.trigger("job")
				f.sleepTo(45 * time.Second)
				require.Equal(t, "12.5s", f.story("job"))
				require.Equal(t, map[protocol.Outcome]int{"skipped": 4}, f.fates("job"))
			})
		})
	}
}

func TestTriggeredTickRunsWhereItsGroupIsServed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(0), jobs.WithGroups("eu"))
		f.start("a")
		f.start("b", scheduler.WithGroups("us"))
		f.start("c", scheduler.WithGroups("eu"))
		for i := range 20 {
			f.sleepTo(time.Duration(i+1)*time.Second + 500*time.Millisecond)
			f.trigger("job")
		}
		f.sleepTo(30 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 20)
		for _, run := range runs {
			require.Equal(t, "c", run.Replica)
		}
	})
}

func TestTickTriggeredWhileAllAreAwayRunsLater(t *testing.T) {
	for name, gone := range map[string]struct{ leave, back func(*fleet) }{
		"stopped":                     {(*fleet).stopAll, func(f *fleet) { f.startMany(3) }},
		"cut off from what they ask":  {func(f *fleet) { f.every((*link).cut) }, func(f *fleet) { f.every((*link).heal) }},
		"hanging on what they ask of": {func(f *fleet) { f.every((*link).hang) }, func(f *fleet) { f.every((*link).heal) }},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(time.Second))
				f.startMany(3)
				f.sleepTo(12 * time.Second)
				gone.leave(f)
				f.sleepTo(15500 * time.Millisecond)
				tick := f.trigger("job")
				f.sleepTo(25 * time.Second)
				require.Empty(t, f.runsOf("job", tick))
				gone.back(f)
				f.sleepTo(39 * time.Second)
				runs := f.runsOf("job", tick)
				require.Len(t, runs, 1)
				require.WithinRange(t, runs[0].start, at(25*time.Second), at(30100*time.Millisecond), "with the next claim at the latest")
				require.Equal(t, wire.Succeeded, f.fateOf("job", tick).outcome)
			})
		})
	}
}

// TestTriggeredTickRunsWithoutItsNotification: every answer about the job reports it.
func TestTriggeredTickRunsWithoutItsNotification(t *testing.T) {
	for overlap, want := range map[jobs.Overlap][]time.Duration{
		jobs.Forbid: {10 * time.Second, 15500 * time.Millisecond, 30 * time.Second}, // 20s overlaps what waits
		jobs.Queue:  {10 * time.Second, 20 * time.Second, 30 * time.Second},         // 20s takes its place
		jobs.Allow:  {10 * time.Second, 15500 * time.Millisecond, 20 * time.Second, 30 * time.Second},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(time.Second), jobs.WithOverlap(overlap))
				f.startMany(3)
				f.every(func(l *link) { l.set(func(c call) fault { return fault{cut: c.verb == verbWake} }) })
				f.sleepTo(15500 * time.Millisecond)
				tick := f.trigger("job")
				f.sleepTo(35 * time.Second)
				var ticks []time.Duration
				for _, run := range f.runs.of("job") {
					ticks = append(ticks, run.Tick.Sub(epoch))
					if run.Tick.Equal(tick) {
						require.WithinRange(t, run.start, at(20*time.Second), at(20050*time.Millisecond))
					}
				}
				require.ElementsMatch(t, want, ticks)
				require.NotEmpty(t, f.fateOf("job", tick).outcome)
			})
		})
	}
}

// TestTickTriggeredDuringAClaimRunsAtOnce: the answer was given before, and does not report it.
func TestTickTriggeredDuringAClaimRunsAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.start("a")
		f.sleepTo(5 * time.Second)
		f.every(func(l *link) {
			l.set(func(c call) fault {
				if c.verb == verbClaim {
					return fault{back: 300 * time.Millisecond}
				}
				return fault{}
			})
		})
		f.sleepTo(10100 * time.Millisecond)
		tick := f.trigger("job")
		f.sleepTo(11 * time.Second)
		require.Len(t, f.runsOf("job", tick), 1)
		f.every((*link).heal)
	})
}

func TestATriggeredRunIsRetriedAndFails(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(context.Context, jobs.Run) error { return errWork }, retries(3, time.Second))
		f.startMany(3)
		f.sleepTo(12500 * time.Millisecond)
		tick := f.trigger("job")
		f.sleepTo(time.Minute)
		runs := f.runsOf("job", tick)
		require.Len(t, runs, 3)
		require.Equal(t, runs[0].Token, runs[2].Token)
		require.Equal(t, wire.Failed, f.fateOf("job", tick).outcome)
	})
}

func TestTriggeredRunIsTakenOverByItsDelivery(t *testing.T) {
	for delivery, want := range map[jobs.Delivery]struct {
		attempts int
		outcome  protocol.Outcome
	}{
		jobs.AtLeastOnce: {2, wire.Succeeded},
		jobs.AtMostOnce:  {1, wire.Lost},
	} {
		t.Run(string(delivery), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1h", takes(10*time.Second), jobs.WithDelivery(delivery))
				f.startMany(3)
				f.sleepTo(12500 * time.Millisecond)
				tick := f.trigger("job")
				f.sleepTo(14 * time.Second)
				f.replica(f.runs.running("job")[0].Replica).link.cut()
				f.sleepTo(time.Minute)
				runs := f.runsOf("job", tick)
				require.Len(t, runs, want.attempts)
				require.Less(t, runs[len(runs)-1].start, at(14*time.Second+ttl+time.Second))
				require.Equal(t, want.outcome, f.fateOf("job", tick).outcome)
			})
		})
	}
}

// subscriber hands out what its replica is woken by.
type subscriber struct {
	*link
	mu   sync.Mutex
	wake func(name string, tick int64)
}

func (e *subscriber) Watch(ctx context.Context, wake func(name string, tick int64)) error {
	e.mu.Lock()
	e.wake = wake
	e.mu.Unlock()
	return e.link.Watch(ctx, wake)
}

// TestSettledTriggeredTickNeverRunsAgain, even for a replica that learns of it late, again and
// again, long after the store has ceased to remember it.
func TestSettledTriggeredTickNeverRunsAgain(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		var decided atomic.Int32
		f.observe = func(replica string, e scheduler.Event) {
			if e, ok := e.(scheduler.Claimed); ok && replica == "late" && e.Tick.UnixMilli()%1000 != 0 && e.Status == protocol.Decided {
				decided.Add(1)
			}
		}
		f.startMany(2)
		e := &subscriber{}
		f.startOver("late", func(l *link) protocol.Store {
			l.set(func(c call) fault { return fault{cut: c.verb == verbWake} })
			e.link = l
			return e
		})
		f.sleepTo(12500 * time.Millisecond)
		tick := f.trigger("job")
		f.sleepTo(13 * time.Second)
		require.Len(t, f.runsOf("job", tick), 1)
		for i := range 2000 {
			f.sleepTo(13500*time.Millisecond + time.Duration(i)*time.Second)
			e.mu.Lock()
			e.wake("job", tick.UnixMilli())
			e.mu.Unlock()
		}
		time.Sleep(time.Second)
		require.Len(t, f.runsOf("job", tick), 1)
		require.Equal(t, int32(2000), decided.Load(), "it asks each time")
		for _, r := range f.inspect("job").Open {
			require.NotEqual(t, tick.UnixMilli(), r.Tick)
		}
	})
}

func TestManyTriggersAtOnceEachRun(t *testing.T) {
	for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Allow} {
		t.Run(string(overlap), func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1h", takes(time.Second), jobs.WithOverlap(overlap))
				f.startMany(3)
				f.sleepTo(12500 * time.Millisecond)
				// With forbid several wait only where another definition let them.
				_, err := f.store.Sync(t.Context(), []protocol.Sync{{Name: "job", Policy: protocol.Policy{Beside: true}, Defines: true}})
				require.NoError(t, err)
				for range 20 {
					f.trigger("job")
					time.Sleep(2 * time.Millisecond)
				}
				f.sleepTo(time.Minute)
				require.Len(t, f.runs.of("job"), 20)
				if overlap == jobs.Forbid {
					require.Empty(t, f.beside("job"))
				}
			})
		})
	}
}
