package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// editions makes the fleet's job one of a schedule, and returns it with another schedule and
// everything else alike.
func (f *fleet) editions(before, after string, handler jobs.Handler, options ...jobs.Option) (edited *jobs.Job) {
	f.t.Helper()
	f.job("job", before, handler, options...)
	return f.newJob("job", after, handler, options...)
}

// TestNoTickFromBeforeItsScheduleRuns though each misfire would.
func TestNoTickFromBeforeItsScheduleRuns(t *testing.T) {
	for name, edit := range map[string]func(f *fleet, edited *jobs.Job){
		"Update": func(f *fleet, edited *jobs.Job) {
			for _, r := range f.replicas {
				changes := r.Update(f.registry(edited))
				require.Equal(f.t, scheduler.Changes{Redefined: []string{"job"}}, changes)
			}
		},
		"restart": func(f *fleet, edited *jobs.Job) {
			f.stopAll()
			f.jobs = []*jobs.Job{edited}
			f.startMany(3)
		},
		"one by one": func(f *fleet, edited *jobs.Job) {
			f.jobs = []*jobs.Job{edited}
			for _, r := range f.replicas[:3] {
				f.halt(r)
				f.start(r.Replica())
				time.Sleep(time.Second)
			}
		},
		"while nobody is there": func(f *fleet, edited *jobs.Job) {
			f.stopAll()
			f.jobs = []*jobs.Job{edited}
			f.sleepTo(47 * time.Second)
			f.startMany(3)
		},
	} {
		for _, grace := range []time.Duration{time.Second, time.Minute} {
			t.Run(fmt.Sprint(name, "/grace of ", grace), func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					edited := f.editions("@every 1h", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, grace))
					f.startMany(3)
					f.sleepTo(25 * time.Second)
					edit(f, edited)
					f.sleepTo(75 * time.Second)
					if name == "while nobody is there" {
						require.Equal(t, "50s, 1m0s, 1m10s", f.story("job"))
						require.Equal(t, map[string]int{"missed edited": 4}, f.passed("job"))
						return
					}
					require.Equal(t, "30s, 40s, 50s, 1m0s, 1m10s", f.story("job"))
					require.Equal(t, map[string]int{"missed edited": 2}, f.passed("job"), "each reported by one replica")
				})
			})
		}
	}
}

// TestTickBeforeEditIsLeftToOldReplicas: their schedule may have had it, and did here.
func TestTickBeforeEditIsLeftToOldReplicas(t *testing.T) {
	inFleet(t, func(f *fleet) {
		edited := f.editions("@every 20s", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Second))
		a, b := f.start("a"), f.start("b")
		f.sleepTo(19 * time.Second)
		b.link.set(func(c call) fault { // it takes a moment
			if c.verb == verbClaim {
				return fault{there: 700 * time.Millisecond}
			}
			return fault{}
		})
		a.link.set(func(c call) fault { return fault{cut: c.verb == verbClaim && c.tick == at(20*time.Second).UnixMilli()} })
		f.sleepTo(20100 * time.Millisecond)
		a.Update(f.registry(edited))
		f.sleepTo(25 * time.Second)
		a.link.heal()
		b.link.heal()
		require.Len(t, f.runsOf("job", at(20*time.Second)), 1)
		require.Equal(t, "b", f.runsOf("job", at(20*time.Second))[0].Replica)
		f.sleepTo(35 * time.Second)
		require.Len(t, f.runsOf("job", at(30*time.Second)), 1)
	})
}

// TestSharedTicksRunOnceInARollingEdit has replicas change to and fro at any instant, those of
// ticks too.
func TestSharedTicksRunOnceInARollingEdit(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const jobsAtOnce = 20
		var editions [2][]*jobs.Job
		for i := range jobsAtOnce {
			name := string(rune('A' + i))
			for j, schedule := range []string{"@every 1s", "@every 2s"} {
				editions[j] = append(editions[j], f.newJob(name, schedule, takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute)))
			}
		}
		f.jobs = editions[0]
		f.startMany(3)
		life := 10 * time.Minute
		if raceDetected {
			life = time.Minute
		}
		for i := 1; time.Since(epoch) < life; i++ {
			for _, r := range f.replicas {
				switch wait := rand.N(3 * time.Second); rand.IntN(3) {
				case 0:
					f.sleepTo((time.Since(epoch) + wait).Truncate(time.Second))
				default:
					time.Sleep(wait)
				}
				r.Update(f.registry(editions[i%2]...))
			}
		}
		f.sleepTo(life + time.Minute + 500*time.Millisecond)
		for _, job := range editions[1] {
			runs := map[time.Duration]int{}
			for _, run := range f.runs.of(job.Name()) {
				require.Equal(t, 1, run.Attempt)
				runs[run.Tick.Sub(epoch)]++
			}
			for tick := 2 * time.Second; tick < life+time.Minute; tick += 2 * time.Second {
				require.Equal(t, 1, runs[tick], "%s at %s", job.Name(), tick)
			}
			for tick, n := range runs {
				require.Equal(t, 1, n, "%s at %s", job.Name(), tick)
			}
		}
	})
}

func TestMisfiresFromAfterAnEditAreCaughtUp(t *testing.T) {
	for name, misfire := range map[string]struct {
		policy jobs.Misfire
		story  string
		passed map[string]int
	}{
		"all": {jobs.MisfireAll, "30s, 40s at 1m5s, 50s at 1m5s, 1m0s at 1m5s, 1m10s", map[string]int{"missed edited": 2}},
		"latest": {jobs.MisfireLatest, "30s, 1m0s at 1m5s, 1m10s",
			map[string]int{"missed edited": 2, "missed misfire": 2}},
		"skip": {jobs.MisfireSkip, "30s, 1m10s", map[string]int{"missed edited": 2, "missed misfire": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				edited := f.editions("@every 1h", "@every 10s", takes(0), jobs.WithMisfire(misfire.policy, time.Second))
				f.startMany(3)
				f.sleepTo(25 * time.Second)
				for _, r := range f.replicas {
					r.Update(f.registry(edited))
				}
				f.sleepTo(35 * time.Second)
				f.stopAll()
				f.jobs = []*jobs.Job{edited}
				f.sleepTo(65 * time.Second)
				f.startMany(3)
				f.sleepTo(75 * time.Second)
				require.Equal(t, misfire.story, f.story("job"))
				require.Equal(t, misfire.passed, f.passed("job"))
			})
		})
	}
}

// TestMisfiresAroundAnEditAreDistinguished in one gap: only the new schedule's are what they are,
// and only since it is in force.
func TestMisfiresAroundAnEditAreDistinguished(t *testing.T) {
	inFleet(t, func(f *fleet) {
		edited := f.editions("@every 1h", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Second))
		f.startMany(3)
		f.sleepTo(25 * time.Second)
		for _, r := range f.replicas { // the store learns of the edit, and nobody gets to decide about a tick
			r.link.set(func(c call) fault { return fault{cut: c.verb == verbPass || c.verb == verbClaim} })
			r.Update(f.registry(edited))
		}
		f.sleepTo(45 * time.Second)
		f.every((*link).heal)
		f.sleepTo(55 * time.Second)
		var ticks []time.Duration
		for _, run := range f.runs.of("job") {
			ticks = append(ticks, run.Tick.Sub(epoch))
		}
		require.Equal(t, []time.Duration{30 * time.Second, 40 * time.Second, 50 * time.Second}, ticks)
		require.Equal(t, map[string]int{"missed edited": 2}, f.passed("job"))
	})
}

// TestAnotherEditionOfTheSameScheduleMissesNothing: what else is defined again decides nothing
// about ticks.
func TestAnotherEditionOfTheSameScheduleMissesNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		misfire := jobs.WithMisfire(jobs.MisfireAll, time.Second)
		f.job("job", "@every 10s", takes(0), misfire)
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		f.stopAll()
		f.jobs = nil
		f.job("job", "@every 10s", takes(0), misfire, jobs.WithTimeout(time.Minute))
		f.sleepTo(45 * time.Second)
		f.startMany(3)
		f.sleepTo(55 * time.Second)
		require.Equal(t, "10s, 20s at 45s, 30s at 45s, 40s at 45s, 50s", f.story("job"))
		require.Empty(t, f.passed("job"))
	})
}

func TestTicksAfterALossFollowTheEdit(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startMany(2)
		f.sleepTo(18 * time.Second)
		f.every((*link).cut)
		f.store.Forget()
		// another one, of other jobs, is there first
		other, err := jobs.New("other", "@every 1h", takes(0))
		require.NoError(t, err)
		f.startWith("x", []*jobs.Job{other})
		f.sleepTo(23 * time.Second)
		f.replica("a").link.heal()
		f.replica("b").link.heal()
		f.sleepTo(29 * time.Second)
		require.Regexp(t, "^10s, 20s at 2", f.story("job"), f.passed("job"))
	})
}
