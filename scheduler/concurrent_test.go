package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// most returns how many runs there were at one time, at most, and the time of all of them between two
// instants. A run that was cancelled counts until then.
func (r *recorder) most(from, to time.Time) (most int, busy time.Duration) {
	type step struct {
		at   time.Time
		more int
	}
	var steps []step
	for _, a := range r.of("") {
		end := a.end
		if end.IsZero() {
			end = time.Now()
		}
		if !a.cancelled.IsZero() && a.cancelled.Before(end) {
			end = a.cancelled
		}
		steps = append(steps, step{a.start, 1}, step{end, -1})
		if start := maxTime(a.start, from); start.Before(end) && start.Before(to) {
			busy += minTime(end, to).Sub(start)
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.more - b.more // at one instant, runs end before others start
	})
	n := 0
	for _, s := range steps {
		n += s.more
		most = max(most, n)
	}
	return most, busy
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

var caughtUp = jobs.WithMisfire(jobs.MisfireAll, time.Hour)

func TestNoMoreRunOverTheFleetThanTheJobAllows(t *testing.T) {
	for _, limit := range []int{1, 7, 130} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			stored(t, 5, takes(800*time.Millisecond), func(f *fleet) {
				keys := 20 * limit // 16 s of work for all permits
				for i := range keys {
					f.put(fmt.Sprint("k", i), "@at 2000-01-01T00:00:10Z")
				}
				f.sleepTo(time.Minute)
				most, busy := f.runs.most(epoch.Add(11*time.Second), epoch.Add(24*time.Second))
				require.Equal(f.t, limit, most)
				require.Greater(f.t, busy, time.Duration(0.9*float64(limit)*float64(13*time.Second)))
				by := map[string]int{}
				for i := range keys {
					runs := f.runs.of(fmt.Sprint("report/k", i))
					require.Len(f.t, runs, 1)
					by[runs[0].Replica]++
				}
				require.Len(f.t, by, 5, "the replicas take turns")
			}, jobs.WithMaxConcurrent(limit), caughtUp)
		})
	}
}

func TestPermitsOfADeadReplicaAreFreeAfterATTL(t *testing.T) {
	stored(t, 3, takes(time.Second), func(f *fleet) {
		for i := range 200 {
			f.put(fmt.Sprint("k", i), "@at 2000-01-01T00:00:10Z")
		}
		f.sleepTo(20*time.Second + 300*time.Millisecond)
		f.replicas[1].link.cut()
		f.sleepTo(2 * time.Minute)
		from := epoch.Add(20*time.Second + ttl + time.Second)
		most, busy := f.runs.most(from, from.Add(10*time.Second))
		require.LessOrEqual(f.t, most, 4)
		require.Greater(f.t, busy, 36*time.Second)
		for i := range 200 {
			require.NotEmpty(f.t, f.runs.of(fmt.Sprint("report/k", i)), i)
		}
	}, jobs.WithMaxConcurrent(4), caughtUp)
}

func TestPermitsAreGivenBackAtOnceWhenAReplicaStops(t *testing.T) {
	stored(t, 2, takes(500*time.Millisecond), func(f *fleet) {
		for i := range 40 {
			f.put(fmt.Sprint("k", i), "@at 2000-01-01T00:00:10Z")
		}
		f.sleepTo(12 * time.Second)
		running := f.runs.running("")
		require.Len(f.t, running, 1)
		f.replica(running[0].Replica).stop()
		f.sleepTo(40 * time.Second)
		_, busy := f.runs.most(epoch.Add(12*time.Second), epoch.Add(22*time.Second))
		require.Greater(f.t, busy, 9*time.Second)
	}, jobs.WithMaxConcurrent(1), caughtUp)
}

// The bound holds whatever happens to replicas and to replies, and permits do not get lost.
func TestRandomFaultsLetNoMoreRun(t *testing.T) {
	for range 2 { // make soak repeats this
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // reproducible
			limit := 1 + r.IntN(6)
			if r.IntN(4) == 0 {
				limit = 130 // in blocks of two
			}
			overlap := []jobs.Overlap{jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace}[r.IntN(4)]
			verbs := []string{verbClaim, verbRenew, verbSettle, verbRelease, verbPass, verbSync, verbLock, verbLock, verbLock}
			inFleet(t, func(f *fleet) {
				f.job("report", "", takes(time.Duration(100+r.IntN(3000))*time.Millisecond),
					jobs.WithSchedules(), jobs.WithMaxConcurrent(limit), jobs.WithOverlap(overlap))
				f.startMany(4, scheduler.WithMaxRuns(r.IntN(3)*(1+limit/2))) // or without a limit
				f.sleepTo(2500 * time.Millisecond)
				for i := range 30 + limit {
					f.put(fmt.Sprint("k", i), fmt.Sprintf("@every %ds", 2+r.IntN(5)))
				}
				for step := range 40 {
					f.sleepTo(3250*time.Millisecond + time.Duration(step)*1500*time.Millisecond)
					victim, verb := f.replicas[r.IntN(len(f.replicas))], verbs[r.IntN(len(verbs))]
					switch r.IntN(6) {
					case 0:
						victim.link.cut()
					case 1:
						victim.link.loseReplies(1+r.IntN(3), verb)
					case 2:
						victim.link.hang()
					case 3: // of one kind only
						victim.link.set(func(c call) fault { return fault{cut: c.verb == verb} })
					case 4:
						late := time.Duration(r.IntN(4000)) * time.Millisecond
						victim.link.set(func(c call) fault {
							if c.verb == verb {
								return fault{slow: late}
							}
							return fault{}
						})
					case 5:
						victim.link.heal()
					}
				}
				for _, r := range f.replicas {
					r.link.heal()
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				most, _ := f.runs.most(time.Now(), time.Now())
				require.LessOrEqual(f.t, most, limit)
				newest := time.Time{}
				for _, a := range f.runs.of("") {
					newest = maxTime(newest, a.start)
				}
				require.Less(f.t, time.Since(newest), 10*time.Second, "they go on")
			})
		})
	}
}
