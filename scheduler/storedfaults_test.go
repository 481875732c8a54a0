package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/scheduler"
)

func TestPauseOfTheJobHoldsForALoadedTick(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		f.put("a", "@every 10s")
		f.sleepTo(19*time.Second + 500*time.Millisecond) // the tick at 20 s is loaded
		f.pause("report")
		f.sleepTo(25 * time.Second)
		f.resume("report")
		f.sleepTo(31 * time.Second)
		require.Equal(f.t, "10s, 30s", f.story("report/a"))
	})
}

func TestPausedJobRunsWhatWasTriggeredOrIsOpen(t *testing.T) {
	stored(t, 3, takes(5*time.Second), func(f *fleet) {
		f.put("a", "@every 1h")
		f.put("b", "@every 1h")
		first := f.trigger("report/a")
		f.sleepTo(5 * time.Second)
		f.pause("report")
		f.replica(f.runs.running("report/a")[0].Replica).link.cut()
		second := f.trigger("report/b")
		f.sleepTo(30 * time.Second)
		require.Len(f.t, f.runsOf("report/a", first), 2, "it is taken over")
		runs := f.runsOf("report/b", second)
		require.Len(f.t, runs, 1)
		require.Less(f.t, runs[0].start.Sub(second), 3*time.Second)
	})
}

// again is a link whose notifications can be lost, and then are subscribed to again.
type again struct {
	*link
	mu   sync.Mutex
	lost func()
}

func (a *again) subscribe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost()
}

func (a *again) Watch(ctx context.Context, wake func(name string, tick int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	a.lost = cancel
	a.mu.Unlock()
	return a.link.Watch(ctx, wake)
}

func TestPauseThatWasNotNotifiedIsFoundLater(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("report", "", takes(0), jobs.WithSchedules())
		var links []*again
		for _, id := range []string{"a", "b", "c", "d"} {
			f.startOver(id, func(l *link) protocol.Store {
				links = append(links, &again{link: l})
				return links[len(links)-1]
			})
		}
		unnoticed := func(act func()) {
			for _, l := range links {
				l.set(func(c call) fault { return fault{cut: c.verb == verbWake} })
			}
			act()
			for _, l := range links {
				l.heal()
				l.subscribe()
			}
		}
		f.sleepTo(2500 * time.Millisecond)
		for i := range 16 {
			f.put(fmt.Sprint("k", i), "@every 10s")
		}
		f.sleepTo(15 * time.Second)
		unnoticed(func() { f.pause("report") })
		f.sleepTo(35 * time.Second)
		unnoticed(func() { f.resume("report") })
		f.sleepTo(51 * time.Second)
		for i := range 16 {
			require.Equal(f.t, "10s, 40s, 50s", f.story(fmt.Sprint("report/k", i)))
		}
	})
}

// A replica that has no room leaves the ticks of its shares to others, of each of its jobs.
func TestFullReplicaLeavesSchedulesOfEveryJobToOthers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("busy", "@triggered", takes(5*time.Minute), jobs.WithWeight(9))
		for _, name := range []string{"invoice", "report"} {
			f.job(name, "", takes(0), jobs.WithSchedules())
		}
		f.startMany(2, scheduler.WithMaxRuns(9))
		f.sleepTo(2500 * time.Millisecond)
		f.trigger("busy")
		for i := range 8 {
			f.put(fmt.Sprint("k", i), "@every 10s")
			f.put(fmt.Sprint("k", i), "@every 10s", func(p *protocol.Put) { p.Name = fmt.Sprint("invoice/k", i) })
		}
		f.sleepTo(33 * time.Second)
		for _, job := range []string{"invoice", "report"} {
			for i := range 8 {
				runs := f.runs.of(fmt.Sprint(job, "/k", i))
				require.Len(f.t, runs, 3, "%s/k%d", job, i)
				for _, a := range runs {
					require.Less(f.t, a.start.Sub(a.Tick), ttl/2)
				}
			}
		}
		f.cancel("busy", f.runs.of("busy")[0].Tick)
	})
}

func TestUnreadableRecordStopsNoOtherSchedule(t *testing.T) {
	stored(t, 2, takes(0), func(f *fleet) {
		f.put("a", "@every 10s")
		change := driver.Change{ID: "other", Data: []byte("not a record"), Due: time.Now()}
		memory := f.store.Memory()
		require.Equal(f.t, driver.Done, memory.Do(f.t.Context(), []driver.Op{{Key: "report/bad", Change: &change}})[0].Status)
		f.sleepTo(31 * time.Second)
		require.Equal(f.t, "10s, 20s, 30s", f.story("report/a"))
	})
}

// A replica without a time zone leaves what it cannot read to others for a while, who may have it.
func TestUnreadableScheduleIsLeftToOthers(t *testing.T) {
	stored(t, 2, takes(0), func(f *fleet) {
		f.put("a", "@every 10s", func(p *protocol.Put) { p.Schedule = "Mars/Olympus @every 10s" })
		due := f.dueOf("report/a")
		f.sleepTo(40 * time.Second)
		require.Equal(f.t, due, f.dueOf("report/a"))
		f.sleepTo(3 * time.Minute)
		require.Greater(f.t, f.dueOf("report/a"), due, "it is in the way of no other for ever")
	})
}

func (f *fleet) dueOf(name string) int64 {
	f.t.Helper()
	list, err := f.store.GetSchedules(f.t.Context(), []string{name})
	require.NoError(f.t, err)
	return list[0].Due
}

func TestTickThatIsDueOutlivesAChange(t *testing.T) {
	for what, spec := range map[string]string{"and has it": "@every 5s", "and lacks it": "@every 10s offset 7s"} {
		t.Run(what, func(t *testing.T) {
			stored(t, 3, takes(0), func(f *fleet) {
				f.put("a", "@every 10s")
				f.sleepTo(15 * time.Second)
				for _, r := range f.replicas {
					r.link.cut()
				}
				f.sleepTo(22 * time.Second) // the tick of 20 s is due
				f.put("a", spec)
				for _, r := range f.replicas {
					r.link.heal()
				}
				f.sleepTo(38 * time.Second)
				want := map[string]string{"@every 5s": "10s, 20s, 25s, 30s, 35s", "@every 10s offset 7s": "10s, 20s, 27s, 37s"}[spec]
				require.Equal(f.t, want, regexp.MustCompile(` at [0-9.]*s`).ReplaceAllString(f.story("report/a"), ""))
			}, jobs.WithMisfire(jobs.MisfireAll, 5*time.Second))
		})
	}
}

// The store goes back to when a tick was open, or was to come. The replicas that look at its record
// then have decided it.
func TestStoredTickRunsOnceAfterASnapshotReturns(t *testing.T) {
	for what, at := range map[string]time.Duration{"before the tick": 9 * time.Second, "while it runs": 11 * time.Second} {
		t.Run(what, func(t *testing.T) {
			inLossyFleet(t, func(f *fleet) {
				memory := new(driver.Memory)
				f.job("report", "", takes(2*time.Second), jobs.WithSchedules())
				session := func() protocol.Store {
					session, err := engine.NewSession(memory, protocol.DefaultNamespace, engine.Options{})
					require.NoError(f.t, err)
					return session
				}
				var links []*again
				for _, id := range []string{"a", "b", "c"} {
					f.startOver(id, func(l *link) protocol.Store {
						l.Store = session()
						links = append(links, &again{link: l})
						return links[len(links)-1]
					})
				}
				f.sleepTo(2500 * time.Millisecond)
				for i := range 30 {
					f.putTo(session(), fmt.Sprint("k", i), "@every 10s")
				}
				f.sleepTo(at)
				restore := memory.Snapshot()
				f.sleepTo(14 * time.Second)
				restore()
				for _, l := range links {
					l.subscribe()
				}
				f.sleepTo(43 * time.Second)
				for i := range 30 {
					require.Equal(f.t, "10s, 20s, 30s, 40s", f.story(fmt.Sprint("report/k", i)), i)
				}
			})
		})
	}
}

var errOfHandler = errors.New("of the handler")

// A job is removed, or gets another definition, while its schedules are loaded and run.
func TestUpdateHoldsForLoadedSchedules(t *testing.T) {
	inFleet(t, func(f *fleet) {
		before := f.newJob("report", "", takes(0), jobs.WithSchedules())
		after := f.newJob("report", "", func(context.Context, jobs.Run) error { return errOfHandler }, jobs.WithSchedules(), jobs.WithTimeout(time.Minute))
		r := f.startWith("a", []*jobs.Job{before})
		f.sleepTo(2500 * time.Millisecond)
		for i := range 50 {
			f.put(fmt.Sprint("k", i), "@every 10s")
		}
		f.sleepTo(19*time.Second + 900*time.Millisecond)
		r.Update(f.registry(after))
		f.sleepTo(29*time.Second + 900*time.Millisecond)
		r.Update(f.registry())
		f.sleepTo(35 * time.Second)
		for i := range 50 {
			runs := f.runs.of(fmt.Sprint("report/k", i))
			require.Equal(f.t, "10s, 20s", f.story(fmt.Sprint("report/k", i)))
			require.NoError(f.t, runs[0].err)
			require.ErrorIs(f.t, runs[1].err, errOfHandler)
		}
		require.Zero(f.t, f.loaded())
	})
}
