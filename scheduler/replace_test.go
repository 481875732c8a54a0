package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

var replacing = jobs.WithOverlap(jobs.Replace)

// disconnected is a store that sends no notifications.
type disconnected struct{ protocol.Store }

// startDisconnected starts a replica whose store notifies nobody.
func (f *fleet) startDisconnected(id string, options ...scheduler.Option) *replica {
	f.t.Helper()
	return f.startOver(id, func(l *link) protocol.Store { return disconnected{l} }, options...)
}

// replacedBefore holds that a tick was settled as replaced, once, before the next one was granted.
func (f *fleet) replacedBefore(job string, tick, next time.Time) {
	f.t.Helper()
	done, granted := f.fateOf(job, tick), f.grantOf(job, next)
	require.Equal(f.t, protocol.OutcomeReplaced, done.outcome, "of %s", since(tick))
	require.False(f.t, done.at.After(granted.at), "%s was settled at %s, %s granted at %s", since(tick), since(done.at), since(next), since(granted.at))
}

func TestNewTickReplacesTheRunningOneAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Hour), replacing)
		f.startMany(3)
		f.sleepTo(10*time.Minute - time.Second)
		require.Empty(t, f.beside("job"))
		runs := f.runs.of("job")
		require.Len(t, runs, 59)
		for i, run := range runs {
			require.Equal(t, run.Tick, run.start.UTC(), "at its instant")
			if i == 58 {
				break
			}
			require.ErrorIs(t, run.cause, protocol.ErrReplaced)
			require.Equal(t, runs[i+1].Tick, run.cancelled.UTC(), "at that of the next")
			f.replacedBefore("job", run.Tick, runs[i+1].Tick)
		}
		require.Equal(t, map[protocol.Outcome]int{"replaced": 58, "": 1}, f.fates("job"))
		require.Empty(t, f.passed("job"))
		settled, _ := eventsOf[scheduler.RunSettled](f)
		require.Len(t, settled, 58, "by those who ran them")
		for _, e := range settled {
			require.Equal(t, wire.Replaced, e.Outcome)
			require.ErrorIs(t, e.Err, protocol.ErrReplaced)
		}
	})
}

func TestRunIsReplacedWithoutNotifications(t *testing.T) {
	for name, start := range map[string]func(*fleet, string) *replica{
		"a store that cannot tell": func(f *fleet, id string) *replica { return f.startDisconnected(id) },
		"wakes get lost": func(f *fleet, id string) *replica {
			r := f.start(id)
			r.link.set(func(c call) fault { return fault{cut: c.verb == verbWake} })
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(time.Hour), replacing)
				for _, id := range []string{"a", "b", "c"} {
					start(f, id)
				}
				f.sleepTo(5*time.Minute - time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 29)
				for i, run := range runs[:28] {
					require.ErrorIs(t, run.cause, protocol.ErrReplaced)
					next := runs[i+1]
					require.LessOrEqual(t, run.cancelled.Sub(next.Tick), ttl/3+ttl/10)
					require.Less(t, next.start.Sub(next.Tick), ttl+100*time.Millisecond, "when the lease would have run out, at the latest")
					f.replacedBefore("job", run.Tick, next.Tick)
				}
				require.Empty(t, f.beside("job"))
			})
		})
	}
}

// TestHandlerThatIgnoresItsContextDelaysTheNext, and no longer.
func TestHandlerThatIgnoresItsContextDelaysTheNext(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 30s", func(ctx context.Context, run jobs.Run) error {
			if run.Tick.Equal(at(30 * time.Second)) {
				return ignoring(time.Minute)(ctx, run)
			}
			return takes(time.Second)(ctx, run)
		}, replacing)
		f.startMany(3)
		f.sleepTo(95 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 3)
		require.Equal(t, at(60*time.Second), runs[0].cancelled.UTC())
		require.WithinRange(t, runs[1].start, at(60*time.Second+ttl/2), at(60*time.Second+ttl+100*time.Millisecond))
		f.replacedBefore("job", runs[0].Tick, runs[1].Tick)
		require.Equal(t, map[string]int{"replaced newer": 1}, f.passed("job"), "since its holder did not")
		lost, _ := eventsOf[scheduler.RunLost](f)
		require.Len(t, lost, 1, "it is reported as too late")
		require.ErrorIs(t, lost[0].Cause, protocol.ErrFenced)
	})
}

// TestDeadHolderIsReplacedWhenItsLeaseEnds cuts it off a second before the next tick.
func TestDeadHolderIsReplacedWhenItsLeaseEnds(t *testing.T) {
	for name, delivery := range map[string]jobs.Delivery{"at least once": jobs.AtLeastOnce, "at most once": jobs.AtMostOnce} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 30s", takes(time.Hour), replacing, jobs.WithDelivery(delivery))
				f.startMany(3)
				f.sleepTo(59 * time.Second)
				f.replica(f.runs.running("job")[0].Replica).link.cut()
				f.sleepTo(65 * time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 2, "it is not taken over")
				require.ErrorIs(t, runs[0].cause, lease.ErrLost)
				require.WithinRange(t, runs[1].start, runs[0].cancelled, at(59*time.Second+ttl+100*time.Millisecond))
				f.replacedBefore("job", runs[0].Tick, runs[1].Tick)
				require.Equal(t, map[string]int{"replaced newer": 1}, f.passed("job"))
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestCancelledHandlerThatSucceedsHasSucceeded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", func(ctx context.Context, run jobs.Run) error {
			if takes(time.Hour)(ctx, run) != nil {
				time.Sleep(100 * time.Millisecond) // it saves what it has
			}
			return nil
		}, replacing)
		f.startMany(3)
		f.sleepTo(35 * time.Second)
		require.Equal(t, "10s, 20s at 20.1s, 30s at 30.1s", f.story("job"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 2, "": 1}, f.fates("job"))
	})
}

func TestQueuedTickIsReplacedByNewerTick(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", ignoring(2500*time.Millisecond), replacing)
		f.startMany(3, scheduler.WithTTL(30*time.Second))
		f.sleepTo(9 * time.Second)
		f.store.mu.Lock()
		defer f.store.mu.Unlock()
		j := f.store.job("job")
		require.Equal(t, protocol.OutcomeReplaced, j.fate(2000+epoch.UnixMilli()))
		require.Empty(t, j.grants[2000+epoch.UnixMilli()], "3s took its place")
		require.NotEmpty(t, j.grants[3000+epoch.UnixMilli()])
	})
}

// TestReplacedRunIsNotRetried: it waits for its backoff when the next tick comes.
func TestReplacedRunIsNotRetried(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", func(_ context.Context, run jobs.Run) error {
			if run.Tick.Equal(at(10 * time.Second)) {
				return errWork
			}
			return nil
		}, replacing, retries(5, time.Minute))
		f.startMany(3)
		f.sleepTo(25 * time.Second)
		require.Equal(t, "10s, 20s", f.story("job"))
		require.Equal(t, map[protocol.Outcome]int{"replaced": 1, "succeeded": 1}, f.fates("job"))
	})
}

// TestALateTickReplacesWhatRuns: that it is being caught up is no reason to spare a run that is
// older still.
func TestALateTickReplacesWhatRuns(t *testing.T) {
	for _, misfire := range []jobs.Misfire{jobs.MisfireSkip, jobs.MisfireLatest, jobs.MisfireAll} {
		for name, away := range map[string]time.Duration{"within the grace": 3 * time.Second, "past it": 25 * time.Second} {
			t.Run(string(misfire)+"/"+name, func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					f.job("job", "@every 10s", takes(time.Hour), replacing, jobs.WithMisfire(misfire, 5*time.Second))
					f.startMany(3, scheduler.WithTTL(time.Minute))
					f.sleepTo(19 * time.Second)
					f.every((*link).cut)
					time.Sleep(away)
					f.every((*link).heal)
					f.sleepTo(65 * time.Second)
					require.Empty(t, f.beside("job"))
					running := f.runs.running("job")
					require.Len(t, running, 1)
					require.Equal(t, at(time.Minute), running[0].Tick, "the newest")
					require.Equal(t, protocol.OutcomeReplaced, f.fateOf("job", at(10*time.Second)).outcome)
					require.Less(t, f.fateOf("job", at(10*time.Second)).at, at(19*time.Second+away+7*time.Second))
				})
			})
		}
	}
}

func TestReplacedTickIsReportedOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Hour), replacing)
		f.start("a", scheduler.WithTTL(3*time.Second))
		f.sleepTo(11 * time.Second)
		a := f.replica("a")
		f.start("b", scheduler.WithTTL(3*time.Second))
		a.link.set(func(c call) fault {
			switch c.verb {
			case verbSettle, verbClaim, verbWake:
				return fault{cut: true}
			}
			return fault{}
		})
		f.sleepTo(28 * time.Second)
		a.link.heal()
		f.sleepTo(29 * time.Second)
		n := f.passed("job")["replaced newer"]
		ev, _ := eventsOf[scheduler.RunSettled](f)
		for _, e := range ev {
			if e.Outcome == protocol.OutcomeReplaced && e.Run.Tick.Equal(at(10*time.Second)) {
				n++
			}
		}
		require.Equal(t, 1, n)
	})
}
