package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func TestUpdateSaysWhatItHasChanged(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var called []string
		handler := func(id string) jobs.Handler {
			return func(context.Context, jobs.Run) error {
				called = append(called, id)
				return nil
			}
		}
		f.job("gone", "@every 10s", takes(0))
		f.job("kept", "@every 10s", handler("first"))
		f.job("edited", "@every 10s", takes(0))
		f.job("elsewhere", "@every 10s", takes(0), jobs.WithGroups("us"))
		f.leader("led", leads)
		r := f.start("a")
		f.sleepTo(5 * time.Second)
		registry := f.registry(
			f.newJob("kept", "@every 10s", handler("second")),
			f.newJob("edited", "@every 10s", takes(0), jobs.WithTimeout(time.Second)),
			f.newJob("elsewhere", "@every 1s", takes(0), jobs.WithGroups("us")),
			f.newJob("led", "", leads, jobs.WithLeader(), jobs.WithRetry(jobs.Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: time.Second})),
			f.newJob("new-b", "@every 10s", takes(0)), f.newJob("new-a", "@every 10s", takes(0)))
		require.Equal(t, scheduler.Changes{
			Added: []string{"new-a", "new-b"}, Redefined: []string{"edited", "led"}, Removed: []string{"gone"},
		}, r.Update(registry))
		require.Equal(t, scheduler.Changes{}, r.Update(registry), "nothing is left to change")
		f.sleepTo(12 * time.Second)
		require.Equal(t, []string{"second"}, called, "a closure that changed has no revision")
		var names []string
		for _, s := range r.Jobs() {
			names = append(names, s.Name)
		}
		require.Equal(t, []string{"edited", "kept", "led", "new-a", "new-b"}, names)
		require.Equal(t, scheduler.Changes{Removed: []string{"edited", "kept", "led", "new-a", "new-b"}}, r.Update(nil))
		require.Empty(t, r.Jobs())
	})
}

func TestUpdateBeforeRun(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		s, err := scheduler.New(&link{Store: f.store}, nil, scheduler.WithReplica("a"), scheduler.WithTTL(ttl))
		require.NoError(t, err)
		require.Equal(t, scheduler.Changes{Added: []string{"job"}}, s.Update(f.registry(f.jobs...)))
		ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
		defer cancel()
		require.NoError(t, s.Run(ctx))
		require.Equal(t, "10s, 20s", f.story("job"))
	})
}

func TestAddedJobRunsFromItsNextTickOn(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.startMany(3)
		f.sleepTo(25 * time.Second)
		require.True(t, f.replica("a").Ready())
		f.job("job", "@every 10s", takes(time.Second))
		f.leader("led", leads)
		for _, r := range f.replicas {
			r.Update(f.registry(f.jobs...))
		}
		f.sleepTo(65 * time.Second)
		require.Equal(t, "30s, 40s, 50s, 1m0s", f.story("job"))
		require.Empty(t, f.passed("job"))
		runs := f.inOrder("led")
		require.Len(t, runs, 1)
		require.Less(t, runs[0].start, at(26*time.Second))
	})
}

func TestRunOfRemovedJobIsSettledOnce(t *testing.T) {
	for name, list := range map[string]func(*fleet) []*jobs.Job{
		"removed": func(*fleet) []*jobs.Job { return nil },
		"defined anew": func(f *fleet) []*jobs.Job {
			return []*jobs.Job{f.newJob("job", "@every 1h", takes(0), jobs.WithTimeout(time.Second))}
		},
		"elsewhere": func(f *fleet) []*jobs.Job {
			return []*jobs.Job{f.newJob("job", "@every 10s", takes(0), jobs.WithGroups("us"))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", takes(20*time.Second), jobs.WithOverlap(jobs.Allow))
				f.startMany(3)
				f.sleepTo(15 * time.Second)
				registry := f.registry(list(f)...)
				for _, r := range f.replicas {
					r.Update(registry)
				}
				f.sleepTo(55 * time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 1, "and none follows")
				require.NoError(t, runs[0].err)
				require.Equal(t, at(30*time.Second), runs[0].end.UTC())
				require.Equal(t, wire.Succeeded, f.fateOf("job", at(10*time.Second)).outcome)
				settled, _ := eventsOf[scheduler.RunSettled](f)
				require.Len(t, settled, 1)
				require.Empty(t, f.inspect("job").Open)
			})
		})
	}
}

// TestQueuedTickOfReturningJobRuns, and not before.
func TestQueuedTickOfReturningJobRuns(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(15*time.Second), queued)
		r := f.start("a")
		f.sleepTo(21 * time.Second)
		r.Update(nil)
		f.sleepTo(42 * time.Second)
		require.Equal(t, "10s", f.story("job"))
		r.Update(f.registry(f.jobs...))
		f.sleepTo(43 * time.Second)
		require.Len(t, f.runs.of("job"), 2)
		require.Equal(t, at(20*time.Second), f.runs.of("job")[1].Tick)
	})
}

// TestJobRemovedFromOneReplicaRunsOnOthers: there is no job of the fleet, only jobs of replicas.
func TestJobRemovedFromOneReplicaRunsOnOthers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second))
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		f.replica("a").Update(nil)
		f.replica("b").Update(nil)
		f.sleepTo(10*time.Minute - time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 59)
		for _, run := range runs[1:] {
			require.Equal(t, "c", run.Replica)
		}
	})
}

// TestJobThatComesBackKnowsWhatWasDecided, also of a run of its former self.
func TestJobThatComesBackKnowsWhatWasDecided(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(13*time.Second), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		r := f.start("a")
		f.sleepTo(12 * time.Second)
		r.Update(nil)
		f.sleepTo(15 * time.Second)
		r.Update(f.registry(f.jobs...))
		f.sleepTo(49 * time.Second)
		require.Equal(t, "10s, 30s", f.story("job"))
		require.Equal(t, map[string]int{"skipped overlap": 2}, f.passed("job"))
	})
}

func TestALeaderTaskThatIsRemovedEnds(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		f.sleepTo(10 * time.Second)
		first := f.leading("job")
		removed := time.Now()
		first.Update(nil)
		time.Sleep(time.Millisecond)
		runs := f.inOrder("job")
		require.Len(t, runs, 2)
		require.ErrorIs(t, runs[0].cause, scheduler.ErrRemoved)
		require.Equal(t, removed, runs[0].cancelled)
		require.Equal(t, removed, runs[1].start, "another takes over at once")
		for _, r := range f.replicas {
			r.Update(nil)
		}
		f.sleepTo(time.Minute)
		require.Empty(t, f.runs.running("job"))
		require.Empty(t, f.inspect("job").Open)
	})
}

func TestRedefinedLeaderTaskStartsOver(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		edited := f.newJob("job", "", func(ctx context.Context, run jobs.Run) error {
			require.NotEmpty(t, run.Replica)
			return leads(ctx, run)
		}, jobs.WithLeader(), func(s *jobs.Spec) { s.Definition = "another command" })
		f.startMany(3)
		f.sleepTo(10 * time.Second)
		for _, r := range f.replicas {
			r.Update(f.registry(edited))
		}
		f.sleepTo(time.Minute)
		runs := f.inOrder("job")
		require.ErrorIs(t, runs[0].cause, scheduler.ErrRemoved)
		require.Len(t, f.runs.running("job"), 1)
		require.LessOrEqual(t, len(runs), 4)
		require.NotNil(t, f.leading("job"))
	})
}

// TestLeaderTaskCanBecomeAJobWithTicks, and back: the name and its record stay.
func TestLeaderTaskCanBecomeAJobWithTicks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		ticking := f.newJob("job", "@every 10s", takes(time.Second), jobs.WithMisfire(jobs.MisfireAll, time.Hour))
		for _, r := range f.replicas {
			r.Update(f.registry(ticking))
		}
		f.sleepTo(45 * time.Second)
		runs := f.runs.of("job")[1:]
		require.NotEmpty(t, runs)
		for i, run := range runs[len(runs)-3:] {
			require.Equal(t, at(time.Duration(20+10*i)*time.Second), run.Tick)
		}
		for _, r := range f.replicas {
			r.Update(f.registry(f.jobs...))
		}
		f.sleepTo(75 * time.Second)
		require.Len(t, f.runs.running("job"), 1)
		require.NotNil(t, f.leading("job"))
	})
}

// TestUpdatesThatRaceWithTicksLoseNothing defines jobs again at any moment, on all replicas at
// once.
func TestUpdatesThatRaceWithTicksLoseNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const count = 10
		edition := func(n int) (list []*jobs.Job) {
			for i := range count {
				list = append(list, f.newJob(fmt.Sprint("job-", i), "@every 1s", takes(0), func(s *jobs.Spec) { s.Definition = fmt.Sprint(n) }))
			}
			if n%3 > 0 {
				list = append(list, f.newJob("led", "", leads, jobs.WithLeader(), func(s *jobs.Spec) { s.Definition = fmt.Sprint(n) }))
			}
			if n%2 == 0 {
				list = append(list, f.newJob("sometimes", "@every 1s", takes(300*time.Millisecond)))
			}
			return list
		}
		f.jobs = edition(0)
		replicas := f.startMany(3)
		life := 5 * time.Minute
		if raceDetected {
			life = time.Minute
		}
		var updates sync.WaitGroup
		for _, r := range replicas {
			for range 2 {
				updates.Go(func() {
					for time.Since(epoch) < life {
						r.Update(f.registry(edition(rand.IntN(6))...))
						time.Sleep(rand.N(2 * time.Second))
						if rand.IntN(3) == 0 {
							f.sleepToSecond()
						}
					}
				})
			}
		}
		updates.Wait()
		end := time.Now().Truncate(time.Second).Add(5 * time.Second)
		for _, r := range replicas {
			r.Update(f.registry(edition(1)...))
		}
		time.Sleep(time.Until(end.Add(500 * time.Millisecond)))
		for i := range count {
			name := fmt.Sprint("job-", i)
			ticks := map[time.Time]int{}
			for _, run := range f.runs.of(name) {
				ticks[run.Tick.UTC()]++
			}
			for tick := at(time.Second); !tick.After(end.UTC()); tick = tick.Add(time.Second) {
				require.Equal(t, 1, ticks[tick], "%s at %s", name, since(tick))
			}
		}
		require.Len(t, f.runs.running("led"), 1)
		f.inOrder("led")
	})
}

// sleepToSecond sleeps to the next whole second, when everything is due.
func (f *fleet) sleepToSecond() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
}

func TestUpdateLeaksNoGoroutine(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("led", leads)
		f.job("job", "@every 1s", takes(0))
		r := f.start("a")
		f.sleepTo(10500 * time.Millisecond)
		before := inBubble()
		require.Positive(t, before)
		for i := range 500 {
			definition := func(s *jobs.Spec) { s.Definition = fmt.Sprint(i) }
			r.Update(f.registry(f.newJob("led", "", leads, jobs.WithLeader(), definition), f.newJob("job", "@every 1s", takes(0), definition)))
			time.Sleep(100 * time.Millisecond)
		}
		r.Update(nil)
		time.Sleep(time.Minute)
		require.Zero(t, r.Held())
		r.Update(f.registry(f.jobs...))
		f.sleepTo(180500 * time.Millisecond)
		require.LessOrEqual(t, inBubble(), before+4, "but for those that work at a tick")
		require.Equal(t, 1, r.Held(), "the leader's")
	})
}

// inBubble counts the goroutines of the caller's bubble.
func inBubble() int {
	stack := func(all bool) string {
		text := make([]byte, 1<<22)
		return string(text[:runtime.Stack(text, all)])
	}
	header, _, _ := strings.Cut(stack(false), "\n")
	_, bubble, ok := strings.Cut(header, "synctest bubble ")
	if !ok {
		panic("not in a bubble: " + header)
	}
	return strings.Count(stack(true), "synctest bubble "+bubble)
}

func TestUpdateAfterRunStartsNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("led", leads)
		r := f.start("a")
		f.sleepTo(5 * time.Second)
		f.halt(r)
		r.Update(f.registry(f.newJob("led", "", leads, jobs.WithLeader(), jobs.WithRetry(jobs.Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: time.Second})),
			f.newJob("job", "@every 1s", takes(0))))
		f.sleepTo(time.Minute)
		require.Len(t, f.runs.of(""), 1)
		require.Equal(t, map[protocol.Outcome]int{}, f.fates("job"))
	})
}

// A leader task calls the handler of the last Update when it is called again.
func TestLeaderTaskTakesTheNewHandler(t *testing.T) {
	inFleet(t, func(f *fleet) {
		ended := make(chan struct{})
		calls := map[string]int{}
		wait := jobs.WithRetry(jobs.Retry{MaxAttempts: 1, Backoff: time.Second, MaxBackoff: time.Second})
		task := func(id string) *jobs.Job {
			return f.newJob("led", "", func(ctx context.Context, _ jobs.Run) error {
				calls[id]++
				select {
				case <-ended:
				case <-ctx.Done():
				}
				return nil
			}, jobs.WithLeader(), wait)
		}
		r := f.startWith("a", []*jobs.Job{task("first")})
		f.sleepTo(5 * time.Second)
		require.Equal(t, scheduler.Changes{}, r.Update(f.registry(task("second"))))
		f.sleepTo(6 * time.Second)
		require.Equal(t, map[string]int{"first": 1}, calls, "what runs goes on")
		ended <- struct{}{}
		f.sleepTo(10 * time.Second)
		require.Equal(t, map[string]int{"first": 1, "second": 1}, calls)
	})
}
