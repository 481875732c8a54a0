package scheduler_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
)

// away are the ways in which the store can be away for a replica.
var away = map[string]func(*link){
	"cut":  (*link).cut,
	"hang": (*link).hang,
}

func (f *fleet) every(do func(*link)) {
	for _, r := range f.replicas {
		do(r.link)
	}
}

func TestNothingStartsWhileTheStoreIsAway(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("skip", "@every 10s", takes(time.Second), jobs.WithMisfire(jobs.MisfireSkip, 5*time.Second))
				f.job("latest", "@every 10s", takes(time.Second), jobs.WithMisfire(jobs.MisfireLatest, 5*time.Second))
				f.job("all", "@every 10s", takes(time.Second), jobs.WithMisfire(jobs.MisfireAll, 5*time.Second))
				f.startMany(3)
				f.sleepTo(19 * time.Second)
				f.every(fail)
				f.sleepTo(5*time.Minute + 7*time.Second)
				require.Len(t, f.runs.of(""), 3, "what ran before")
				for _, r := range f.replicas {
					require.False(t, r.Ready())
				}
				f.every((*link).heal)
				f.sleepTo(5*time.Minute + 55*time.Second)

				// 29 were due meanwhile, the last 7 s before the store was back.
				require.Equal(t, map[string]int{"missed misfire": 29}, f.passed("skip"))
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 6, "missed": 29}, f.fates("skip"))
				require.Equal(t, map[string]int{"missed misfire": 28}, f.passed("latest"))
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 7, "missed": 28}, f.fates("latest"))
				// Nearly half a minute to catch up, in which two come due.
				require.Equal(t, map[string]int{"skipped overlap": 3}, f.passed("all"))
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 32, "skipped": 3}, f.fates("all"))
				for _, r := range f.replicas {
					require.True(t, r.Ready())
				}
				downs, _ := eventsWhere(f, storeDown)
				require.Len(t, downs, 3)
				still, _ := eventsWhere(f, func(e scheduler.StoreChanged) bool { return !e.Up && e.Away > 0 })
				require.Len(t, still, 3*4, "once a minute")
				for _, e := range still {
					require.Zero(t, e.Away%time.Minute)
				}
				ups, at := eventsWhere(f, func(e scheduler.StoreChanged) bool { return e.Up })
				require.Len(t, ups, 6)
				for _, up := range at[3:] {
					require.WithinRange(t, up, epoch.Add(5*time.Minute+7*time.Second), epoch.Add(5*time.Minute+10*time.Second))
				}
			})
		})
	}
}

// TestShortAbsenceLosesNothingAndDoublesNothing has the store go away for two seconds again and
// again, at another phase each time.
func TestShortAbsenceLosesNothingAndDoublesNothing(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("instant", "@every 1s", takes(0))
				f.job("short", "@every 5s", takes(2*time.Second))
				f.job("long", "@every 30s", takes(20*time.Second))
				f.startMany(3, scheduler.WithTTL(5*time.Second))
				for i := range 50 {
					f.sleepTo(time.Duration(i+1)*20*time.Second + time.Duration(i)*137*time.Millisecond)
					f.every(fail)
					time.Sleep(2 * time.Second)
					f.every((*link).heal)
				}
				f.sleepTo(1100*time.Second - 1)
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 1099}, f.fates("instant"))
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 219}, f.fates("short"))
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 35, "": 1}, f.fates("long"), "the last still runs")
				for _, a := range f.runs.of("") {
					require.Equal(t, 1, a.Attempt, "no run is lost, with a term that is longer")
				}
			})
		})
	}
}

// TestRunThatEndedDuringAnOutageIsSettled lets leases run out meanwhile: their holder has
// finished, and says so before another replica may do the work again.
func TestRunThatEndedDuringAnOutageIsSettled(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				for i := range 20 {
					f.job(fmt.Sprint("job-", i), "* * * * *", takes(2*time.Second+time.Duration(i)*10*time.Millisecond))
				}
				f.startMany(3)
				for i := range 10 {
					f.sleepTo(time.Duration(i+1)*time.Minute + 1900*time.Millisecond)
					f.every(fail)
					time.Sleep(3*ttl + time.Duration(i)*71*time.Millisecond)
					f.every((*link).heal)
				}
				f.sleepTo(11*time.Minute - 1)
				for i := range 20 {
					require.Equal(t, map[protocol.Outcome]int{"succeeded": 10}, f.fates(fmt.Sprint("job-", i)))
				}
				for _, a := range f.runs.of("") {
					require.Equal(t, 1, a.Attempt)
				}
			})
		})
	}
}

// TestRunThatSucceededAfterLeaseLossIsSettled: finished work counts, unless another replica has
// begun it again.
func TestRunThatSucceededAfterLeaseLossIsSettled(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", ignoring(10*time.Second))
		f.startMany(3)
		f.sleepTo(61 * time.Second)
		f.every((*link).cut)
		f.sleepTo(75 * time.Second)
		f.every((*link).heal)
		f.sleepTo(119 * time.Second)
		require.Equal(t, "1m0s", f.story("job"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
	})
}

func TestTheStoreMayBeAwayAtTheStart(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(0))
				r := f.start("a")
				fail(r.link)
				f.sleepTo(35 * time.Second)
				require.Empty(t, f.runs.of(""))
				require.False(t, r.Ready())
				require.Equal(t, []scheduler.JobStatus{{Name: "job", Overdue: 15 * time.Second}}, r.Jobs(), "since the grace of its first tick")
				r.link.heal()
				f.sleepTo(55 * time.Second)
				require.Equal(t, "40s, 50s", f.story("job"), "a new job catches up nothing")
				require.True(t, r.Ready())
			})
		})
	}
}

// TestAReplicaWithASlowLinkHurtsNobody gives each call of one replica a round trip of 900 ms.
func TestAReplicaWithASlowLinkHurtsNobody(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("instant", "@every 1s", takes(0))
		f.job("long", "@every 30s", takes(10*time.Second))
		f.startMany(3, scheduler.WithTTL(5*time.Second))
		f.replica("b").link.set(func(call) fault { return fault{slow: 450 * time.Millisecond} })
		f.sleepTo(10*time.Minute - 1)
		f.replica("b").link.heal()
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 599}, f.fates("instant"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 19}, f.fates("long"))
		for _, a := range f.runs.of("") {
			require.Less(t, a.start.Sub(a.Tick), time.Second)
			require.Equal(t, 1, a.Attempt)
		}
	})
}

// In the bubble of a test, time stands still for ever while somebody waits for a mutex whose holder
// asks the store.
func TestReplicaStartsOnASlowStore(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second))
		slow := func(l *link) protocol.Store {
			l.set(func(call) fault { return fault{slow: 400 * time.Millisecond} })
			return l
		}
		r := f.startBoth("a", f.jobs, slow, scheduler.WithTTL(5*time.Second))
		f.sleepTo(30*time.Second - 1)
		r.link.heal()
		require.Len(t, f.runs.of("job"), 2)
	})
}

func TestLoneReplicaOnSlowLinkIsOnTime(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second))
		r := f.start("a", scheduler.WithTTL(5*time.Second))
		r.link.set(func(call) fault { return fault{slow: 400 * time.Millisecond} })
		f.sleepTo(5*time.Minute - 1)
		r.link.heal()
		runs := f.runs.of("job")
		require.Len(t, runs, 29)
		for _, a := range runs {
			require.LessOrEqual(t, a.start.Sub(a.Tick), 900*time.Millisecond, "one round trip, more or less")
		}
	})
}

// TestReplicaThatMisjudgesFleetTimeIsNotEarly has requests for the time travel slowly, which makes
// a replica believe that the store's clock is a fifth of a second ahead of what it is.
func TestReplicaThatMisjudgesFleetTimeIsNotEarly(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", takes(time.Second))
		var early atomic.Int32
		f.observe = func(_ string, e scheduler.Event) {
			if e, ok := e.(scheduler.Claimed); ok && e.Status == protocol.Early {
				early.Add(1)
			}
		}
		r := f.start("a")
		r.link.set(func(c call) fault {
			if c.verb == verbTime || c.verb == verbAnnounce {
				return fault{there: 400 * time.Millisecond}
			}
			return fault{}
		})
		f.sleepTo(10*time.Minute - 1)
		r.link.heal()
		runs := f.runs.of("job")
		require.Len(t, runs, 9)
		require.GreaterOrEqual(t, early.Load(), int32(9), "the store has said so")
		for _, a := range runs {
			require.WithinDuration(t, a.Tick, a.start, 2*time.Millisecond)
		}
	})
}

// TestRunStoppedByLeaseLossIsRunAgain, since it has not failed: here by those that all lost the
// store.
func TestRunStoppedByLeaseLossIsRunAgain(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "* * * * *", takes(10*time.Second))
				f.startMany(3)
				f.sleepTo(62 * time.Second)
				f.every(fail)
				time.Sleep(2 * ttl)
				f.every((*link).heal)
				f.sleepTo(119 * time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 2)
				require.ErrorIs(t, runs[0].cause, lease.ErrLost)
				require.Equal(t, 2, runs[1].Attempt)
				require.Equal(t, map[protocol.Outcome]int{"succeeded": 1}, f.fates("job"))
			})
		})
	}
}

func TestOutcomesAreSentUntilTheyArrive(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(context.Context, jobs.Run) error { return errCut })
		f.sleepTo(59 * time.Minute)
		f.startMany(3)
		f.sleepTo(time.Hour - time.Second)
		for _, r := range f.replicas {
			r.link.set(func(c call) fault { return fault{cut: c.verb == verbSettle} })
		}
		f.sleepTo(time.Hour + 10*time.Minute)
		require.Equal(t, map[protocol.Outcome]int{"": 1}, f.fates("job"))
		f.every((*link).heal)
		time.Sleep(time.Second)
		require.Equal(t, map[protocol.Outcome]int{"failed": 1}, f.fates("job"))
		require.Equal(t, "1h0m0s", f.story("job"), "renewed all the while")
	})
}
