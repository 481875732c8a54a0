package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/scheduler"
)

// PutSchedules implements [protocol.Store].
func (a *audit) PutSchedules(ctx context.Context, puts []protocol.Put) ([]protocol.PutAnswer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answers, err := a.Store.PutSchedules(ctx, puts)
	for i, p := range puts {
		if j := a.job(p.Name); err == nil && answers[i].Status == protocol.PutCreated && j.first < 0 {
			j.first, j.made = p.After, a.now()
		}
	}
	return answers, err
}

// put puts a schedule of the job report, as of now.
func (f *fleet) put(key, spec string, change ...func(p *protocol.Put)) {
	f.t.Helper()
	f.putTo(f.store, key, spec, change...)
}

func (f *fleet) putTo(store protocol.Store, key, spec string, change ...func(p *protocol.Put)) {
	f.t.Helper()
	name := "report/" + key
	s, err := schedule.Parse(spec, nil, name)
	require.NoError(f.t, err)
	p := protocol.Put{Name: name, Revision: strings.NewReplacer(" ", "_", "@", "").Replace(spec), Schedule: "UTC " + spec, After: time.Now().UnixMilli()}
	for _, c := range change {
		c(&p)
	}
	if next := s.Within(p.Start, p.End).Next(time.UnixMilli(p.After)); !next.IsZero() {
		p.Due = wire.Due(name, next.UnixMilli(), p.Policy.Jitter)
	}
	answers, err := store.PutSchedules(context.Background(), []protocol.Put{p})
	require.NoError(f.t, err)
	require.NoError(f.t, answers[0].Err)
}

func (f *fleet) withdraw(key string) {
	f.t.Helper()
	found, err := f.store.WithdrawSchedule(context.Background(), protocol.Withdraw{Name: "report/" + key})
	require.NoError(f.t, err)
	require.True(f.t, found)
}

// stored runs a test in a fleet of n replicas with the job report.
func stored(t *testing.T, n int, handler jobs.Handler, test func(f *fleet), options ...jobs.Option) {
	inFleet(t, func(f *fleet) {
		f.job("report", "", handler, append(options, jobs.WithSchedules())...)
		f.startMany(n)
		f.sleepTo(2500 * time.Millisecond) // they know each other
		test(f)
		for _, r := range f.replicas {
			r.link.heal()
		}
	})
}

func TestStoredSchedulesRunEachTickOnce(t *testing.T) {
	stored(t, 5, takes(100*time.Millisecond), func(f *fleet) {
		const keys = 300
		for i := range keys {
			f.put(fmt.Sprint("customer", i), fmt.Sprintf("@every 10s offset %ds", i%10), func(p *protocol.Put) { p.Payload = fmt.Sprint(i) })
		}
		f.sleepTo(42*time.Second + 500*time.Millisecond)
		by := map[string]int{}
		for i := range keys {
			name := fmt.Sprint("report/customer", i)
			first := time.Duration(i%10) * time.Second
			if first < 3*time.Second {
				first += 10 * time.Second
			}
			var want string
			for d := first; d <= 42*time.Second; d += 10 * time.Second {
				want += ", " + d.String()
			}
			require.Equal(f.t, want[2:], f.story(name), name)
			for _, a := range f.runs.of(name) {
				require.Equal(f.t, "report", a.Job)
				require.Equal(f.t, fmt.Sprint(i), string(a.Payload))
				by[a.Replica]++
			}
		}
		require.Len(f.t, by, 5, "all take part")
	})
}

func TestNothingOfASchedulesRestIsInMemory(t *testing.T) {
	stored(t, 2, takes(0), func(f *fleet) {
		for i := range 200 {
			f.put(fmt.Sprint("k", i), "@every 1m")
		}
		f.sleepTo(10 * time.Second)
		require.Zero(f.t, f.loaded())
		f.sleepTo(time.Minute - time.Second)
		require.Equal(f.t, 200, f.loaded())
		f.sleepTo(time.Minute + 2*time.Second)
		require.Zero(f.t, f.loaded())
		require.Len(f.t, f.runs.of("report/k7"), 1)
	})
}

// loaded is how many schedules the replicas have in memory.
func (f *fleet) loaded() (n int) {
	for _, r := range f.replicas {
		n += scheduler.Loaded(r.Scheduler)
	}
	return n
}

func TestChangedScheduleActsFromThen(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		f.put("a", "@every 10s")
		f.sleepTo(29*time.Second + 500*time.Millisecond) // the tick at 30 s is loaded
		f.put("a", "@every 10s offset 4s")
		f.sleepTo(46 * time.Second)
		require.Equal(f.t, "10s, 20s, 34s, 44s", f.story("report/a"))
		require.Empty(f.t, f.passed("report"))
	})
}

func TestDeletedScheduleRunsNoMore(t *testing.T) {
	stored(t, 3, takes(3*time.Second), func(f *fleet) {
		f.put("a", "@every 10s")
		f.sleepTo(20*time.Second + 500*time.Millisecond)
		f.withdraw("a")
		f.sleepTo(60 * time.Second)
		require.Equal(f.t, "10s, 20s", f.story("report/a"))
		require.NoError(f.t, f.runs.of("report/a")[1].err, "the run goes on")
		f.put("a", "@every 10s")
		f.sleepTo(71 * time.Second)
		require.Equal(f.t, "10s, 20s, 1m10s", f.story("report/a"))
	})
}

func TestOnceRunsOnceAndIsGoneLater(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		f.put("a", "@at 2000-01-01T00:00:10Z")
		f.sleepTo(time.Minute)
		require.Equal(f.t, "10s", f.story("report/a"))
		list, _, err := f.store.ListSchedules(f.t.Context(), "report", "", "", 10)
		require.NoError(f.t, err)
		require.Len(f.t, list, 1, "kept for its history")
		f.stopAll()
		f.sleepTo(8 * 24 * time.Hour)
		f.start("later")
		f.sleepTo(8*24*time.Hour + 10*time.Second)
		list, _, err = f.store.ListSchedules(f.t.Context(), "report", "", "", 10)
		require.NoError(f.t, err)
		require.Empty(f.t, list)
		require.Equal(f.t, "10s", f.story("report/a"))
	})
}

func TestScheduleIsPausedAndResumed(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		f.put("a", "@every 10s")
		f.put("b", "@every 10s")
		f.sleepTo(19*time.Second + 700*time.Millisecond) // the tick at 20 s is loaded
		f.pause("report/a")
		f.sleepTo(45 * time.Second)
		f.resume("report/a")
		f.sleepTo(61 * time.Second)
		require.Equal(f.t, "10s, 50s, 1m0s", f.story("report/a"))
		require.Equal(f.t, "10s, 20s, 30s, 40s, 50s, 1m0s", f.story("report/b"))
	})
}

func TestPauseOfTheJobPausesAllOfItsSchedules(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		for _, key := range []string{"a", "b", "c"} {
			f.put(key, "@every 10s")
		}
		f.sleepTo(15 * time.Second)
		f.pause("report")
		f.sleepTo(45 * time.Second)
		f.resume("report")
		f.sleepTo(61 * time.Second)
		for _, key := range []string{"a", "b", "c"} {
			require.Equal(f.t, "10s, 50s, 1m0s", f.story("report/"+key))
		}
	})
}

func TestTriggeredScheduleRunsAtOnce(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		f.put("a", "@every 1h", func(p *protocol.Put) { p.Payload = "pdf" })
		f.sleepTo(10 * time.Second)
		tick := f.trigger("report/a")
		f.sleepTo(11 * time.Second)
		runs := f.runsOf("report/a", tick)
		require.Len(f.t, runs, 1)
		require.Equal(f.t, "pdf", string(runs[0].Payload))
		require.Less(f.t, runs[0].start.Sub(tick), 200*time.Millisecond)
	})
}

func TestJobOfSchedulesTakesNoTriggers(t *testing.T) {
	stored(t, 1, takes(0), func(f *fleet) {
		_, err := f.store.Trigger(f.t.Context(), protocol.Trigger{Name: "report", By: "ops", Request: "r"})
		require.ErrorIs(f.t, err, protocol.ErrNoTriggers)
	})
}

func TestStoredScheduleIsTakenOver(t *testing.T) {
	stored(t, 3, takes(20*time.Second), func(f *fleet) {
		f.put("a", "@every 1h")
		tick := f.trigger("report/a")
		f.sleepTo(5 * time.Second)
		running := f.runs.running("report/a")
		require.Len(f.t, running, 1)
		f.replica(running[0].Replica).link.cut()
		f.sleepTo(60 * time.Second)
		runs := f.runsOf("report/a", tick)
		require.Len(f.t, runs, 2)
		require.NotEqual(f.t, runs[0].Replica, runs[1].Replica)
		require.Less(f.t, runs[1].start.Sub(epoch.Add(5*time.Second)), ttl+time.Second)
		require.Equal(f.t, 2, runs[1].Attempt)
	})
}

func TestSharesMoveWhenTheirOwnerIsGone(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		for i := range 100 {
			f.put(fmt.Sprint("k", i), "@every 10s")
		}
		f.sleepTo(19*time.Second + 800*time.Millisecond)
		f.replicas[0].link.cut()
		f.sleepTo(43 * time.Second)
		for i := range 100 {
			runs := f.runs.of(fmt.Sprint("report/k", i))
			require.Len(f.t, runs, 4, i)
			for _, a := range runs {
				require.LessOrEqual(f.t, a.start.Sub(a.Tick), 2*time.Second, "the next looks soon")
			}
		}
	})
}

func TestStoredSchedulesFollowThePolicies(t *testing.T) {
	fail := errors.New("once more")
	stored(t, 3, func(_ context.Context, run jobs.Run) error {
		if run.Attempt == 1 {
			return fail
		}
		return nil
	}, func(f *fleet) {
		f.put("a", "@every 10s")
		f.sleepTo(23 * time.Second)
		for _, tick := range []time.Duration{10 * time.Second, 20 * time.Second} {
			runs := f.runsOf("report/a", epoch.Add(tick))
			require.Len(f.t, runs, 2)
			require.Equal(f.t, 2, runs[1].Attempt)
		}
	}, retries(2, time.Second))
}

func TestStoredSchedulesCatchUpAfterAnOutage(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		for i := range 50 {
			f.put(fmt.Sprint("k", i), "@every 10s")
		}
		f.sleepTo(15 * time.Second)
		for _, r := range f.replicas {
			r.link.cut()
		}
		f.sleepTo(45 * time.Second)
		for _, r := range f.replicas {
			r.link.heal()
		}
		f.sleepTo(62 * time.Second)
		for i := range 50 {
			ticks := map[time.Duration]int{}
			for _, a := range f.runs.of(fmt.Sprint("report/k", i)) {
				ticks[a.Tick.Sub(epoch)]++
			}
			require.Equal(f.t, map[time.Duration]int{10e9: 1, 20e9: 1, 30e9: 1, 40e9: 1, 50e9: 1, 60e9: 1}, ticks, i)
		}
	}, jobs.WithMisfire(jobs.MisfireAll, 2*time.Second))
}

// Replicas are cut off, hang and lose replies, while schedules are put, changed, paused and deleted:
// no tick runs twice or beside another of its key. The judge of the fleet looks at what the store wrote
// down.
func TestRandomFaultsDoubleNoStoredTick(t *testing.T) {
	for range 3 { // make soak repeats this
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			stored(t, 4, takes(700*time.Millisecond), func(f *fleet) {
				r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
				keys := make([]string, 20)
				for i := range keys {
					keys[i] = fmt.Sprint("k", i)
					f.put(keys[i], fmt.Sprintf("@every %ds", 2+r.IntN(5)))
				}
				for step := range 60 {
					f.sleepTo(3250*time.Millisecond + time.Duration(step)*1500*time.Millisecond)
					key, victim := keys[r.IntN(len(keys))], f.replicas[r.IntN(len(f.replicas))]
					switch r.IntN(8) {
					case 0:
						f.put(key, fmt.Sprintf("@every %ds offset 1s", 2+r.IntN(5)))
					case 1:
						_, _ = f.store.WithdrawSchedule(f.t.Context(), protocol.Withdraw{Name: "report/" + key})
						f.put(key, fmt.Sprintf("@every %ds", 2+r.IntN(5)))
					case 2:
						_, _ = f.store.Pause(f.t.Context(), "report/"+key, protocol.Pause{By: "ops"})
					case 3:
						_, _ = f.store.Resume(f.t.Context(), "report/"+key, protocol.Resume{By: "ops"})
					case 4:
						victim.link.cut()
					case 5:
						victim.link.loseReplies(2+r.IntN(3), []string{verbClaim, verbSettle, verbPass, verbSync}[r.IntN(4)])
					case 6:
						_, _ = f.store.Trigger(f.t.Context(), protocol.Trigger{Name: "report/" + key, By: "ops", Request: protocol.NewRequest()})
					case 7:
						victim.link.heal()
					}
				}
				for _, r := range f.replicas {
					r.link.heal()
				}
				for _, key := range keys {
					_, _ = f.store.Resume(f.t.Context(), "report/"+key, protocol.Resume{By: "ops"})
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				for _, key := range keys { // all go on
					runs := f.runs.of("report/" + key)
					require.NotEmpty(f.t, runs)
					require.Less(f.t, time.Since(runs[len(runs)-1].Tick), 8*time.Second, key)
				}
			})
		})
	}
}

func TestPauseIsNoticedWithoutItsNotification(t *testing.T) {
	stored(t, 3, takes(0), func(f *fleet) {
		f.put("a", "@every 10s")
		for _, r := range f.replicas {
			r.link.set(func(c call) fault { return fault{lost: c.verb == verbWake} })
		}
		f.sleepTo(15 * time.Second)
		f.pause("report")
		f.sleepTo(35 * time.Second)
		require.Equal(f.t, "10s", f.story("report/a"))
	})
}

// More long runs than one look loads do not hide what is due after them.
func TestLongRunsHideNothing(t *testing.T) {
	stored(t, 1, func(ctx context.Context, run jobs.Run) error {
		if strings.HasPrefix(run.Key, "long") {
			return takes(30*time.Second)(ctx, run)
		}
		return nil
	}, func(f *fleet) {
		for i := range 1100 {
			f.put(fmt.Sprint("long", i), "@at 2000-01-01T00:00:05Z")
		}
		for i := range 50 {
			f.put(fmt.Sprint("short", i), "@at 2000-01-01T00:00:12Z")
		}
		f.sleepTo(14 * time.Second)
		for i := range 50 {
			require.NotEmpty(f.t, f.story(fmt.Sprint("report/short", i)), i)
		}
		f.sleepTo(40 * time.Second)
	})
}

func TestSchedulesWithoutRoomWaitInMemory(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("report", "", takes(8*time.Second), jobs.WithSchedules(), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startMany(1, scheduler.WithMaxRuns(2))
		f.sleepTo(2500 * time.Millisecond)
		for i := range 10 {
			f.put(fmt.Sprint("k", i), "@at 2000-01-01T00:00:10Z")
		}
		reads := 0
		f.replicas[0].link.set(func(c call) fault {
			if c.verb == verbSync {
				reads++
			}
			return fault{}
		})
		for done := range 5 {
			f.sleepTo(10*time.Second + time.Duration(done)*8*time.Second + time.Second)
			require.Equal(f.t, 10-2*done, f.loaded())
		}
		f.sleepTo(55 * time.Second)
		for i := range 10 {
			require.Len(f.t, f.runs.of(fmt.Sprint("report/k", i)), 1)
		}
		require.Less(f.t, reads, 100)
	})
}

// noIndex is a store that keeps no schedules.
type noIndex struct{ protocol.Store }

func (noIndex) GetSchedules(context.Context, []string) ([]protocol.Keyed, error) {
	return nil, protocol.ErrNoIndex
}

func (noIndex) DueSchedules(context.Context, string, []int, time.Time, int) ([]protocol.DueName, error) {
	return nil, protocol.ErrNoIndex
}

func TestStoreWithoutAnIndexRefusesSuchJobs(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("report", "", takes(0), jobs.WithSchedules())
		f.job("other", "@every 1s", takes(0))
		_, err := scheduler.New(noIndex{f.store}, f.registry(f.jobs...))
		require.ErrorIs(f.t, err, protocol.ErrNoIndex)
		require.ErrorContains(f.t, err, `job "report"`)
		r := f.startBoth("a", f.jobs[1:], func(l *link) protocol.Store { return noIndex{l} })
		f.sleepTo(2 * time.Second)
		require.ErrorIs(f.t, r.Add(f.jobs[0]), protocol.ErrNoIndex)
		r.Update(f.registry(f.jobs...))
		f.sleepTo(10 * time.Second)
		require.True(f.t, r.Ready(), "the store is not away")
		require.Len(f.t, f.runs.of("other"), 10)
	})
}
