package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func TestEveryIsAlignedWheneverReplicasStart(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 90s", takes(0))
		for i := range 5 {
			f.sleepTo(time.Duration(i)*37*time.Second + 123*time.Millisecond)
			f.start(string(rune('a' + i)))
		}
		f.sleepTo(10*time.Minute - 1)
		require.Equal(t, "1m30s, 3m0s, 4m30s, 6m0s, 7m30s, 9m0s", f.story("job"))
	})
}

func TestJitterShiftsStartsAndNothingElse(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithJitter(6*time.Second))
		f.startMany(3)
		f.sleepTo(20*time.Minute + 9*time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 121)
		shifts := map[time.Duration]int{}
		for i, a := range runs {
			require.Equal(t, epoch.Add(time.Duration(i)*10*time.Second), a.Tick, "the first is due after the start")
			shift := a.start.Sub(a.Tick)
			require.GreaterOrEqual(t, shift, time.Duration(0))
			require.LessOrEqual(t, shift, 6*time.Second)
			shifts[shift.Truncate(2*time.Second)]++
		}
		require.Greater(t, shifts[0], 20, "%v", shifts)
		require.Greater(t, shifts[4*time.Second], 20, "%v", shifts)
	})
}

func TestOnlyReplicasOfItsGroupsRunAJob(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("anywhere", "@every 1s", takes(0))
		f.job("eu", "@every 1s", takes(0), jobs.WithGroups("eu"))
		f.job("eu-or-us", "@every 1s", takes(0), jobs.WithGroups("eu", "us"))
		f.job("nowhere", "@every 1s", takes(0), jobs.WithGroups("moon"))
		f.start("none")
		f.start("us", scheduler.WithGroups("us", "asia"))
		eu := f.start("eu", scheduler.WithGroups("eu"))
		f.sleepTo(100*time.Second - 1)
		for _, job := range []string{"anywhere", "eu", "eu-or-us"} {
			require.Len(t, f.runs.of(job), 99)
		}
		require.Empty(t, f.runs.of("nowhere"))
		for _, a := range f.runs.of("eu") {
			require.Equal(t, "eu", a.Replica)
		}
		for _, a := range f.runs.of("eu-or-us") {
			require.NotEqual(t, "none", a.Replica)
		}
		var known []string
		for _, s := range eu.Jobs() {
			known = append(known, s.Name)
		}
		require.Equal(t, []string{"anywhere", "eu", "eu-or-us"}, known)
	})
}

// TestReleasesShareAFleet has one release that knows a job which the other does not, and another
// schedule of a job that both know: each tick of either schedule runs once.
func TestReleasesShareAFleet(t *testing.T) {
	inFleet(t, func(f *fleet) {
		old := []*jobs.Job{f.newJob("both", "@every 10s", takes(0)), f.newJob("gone", "@every 10s", takes(0))}
		recent := []*jobs.Job{f.newJob("both", "@every 15s", takes(0)), f.newJob("new", "@every 10s", takes(0))}
		f.startWith("old-1", old)
		f.startWith("new-1", recent)
		f.startWith("old-2", old)
		f.startWith("new-2", recent)
		f.sleepTo(65 * time.Second)
		require.Equal(t, "10s, 15s, 20s, 30s, 40s, 45s, 50s, 1m0s", f.story("both"))
		require.Equal(t, "10s, 20s, 30s, 40s, 50s, 1m0s", f.story("gone"))
		require.Equal(t, "10s, 20s, 30s, 40s, 50s, 1m0s", f.story("new"))
	})
}

func TestJobsShowsNextAndDecidedTicks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("b", "@every 10s", takes(0))
		f.job("a", "@at 2000-01-01T00:00:15Z", takes(0))
		replicas := f.startMany(2)
		f.sleepTo(12 * time.Second)
		at := func(d time.Duration) time.Time { return epoch.Add(d) }
		jobs := func(r *replica) []scheduler.JobStatus { // but for what only who ran the ticks knows
			list := r.Jobs()
			for i := range list {
				list[i].LastSuccess = time.Time{}
			}
			return list
		}
		for _, r := range replicas {
			require.Equal(t, []scheduler.JobStatus{
				{Name: "a", Next: at(15 * time.Second), Watermark: at(0)},
				{Name: "b", Next: at(20 * time.Second), Watermark: at(10 * time.Second)},
			}, jobs(r))
		}
		f.sleepTo(22 * time.Second)
		require.Equal(t, []scheduler.JobStatus{
			{Name: "a", Watermark: at(15 * time.Second)},
			{Name: "b", Next: at(30 * time.Second), Watermark: at(20 * time.Second)},
		}, jobs(replicas[0]))
		require.Equal(t, "15s", f.story("a"))
	})
}

func TestTwoThousandJobsRunAtTheSameSecond(t *testing.T) {
	inFleet(t, func(f *fleet) {
		n := 2000
		if raceDetected {
			n = 300
		}
		for i := range n {
			f.job(fmt.Sprint("job-", i), "@every 1m", takes(0))
		}
		f.startMany(3)
		f.sleepTo(3*time.Minute + time.Second)
		for i := range n {
			require.Equal(t, "1m0s, 2m0s, 3m0s", f.story(fmt.Sprint("job-", i)))
		}
	})
}

func TestARollingRestartLosesNothingAndDoublesNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("instant", "@every 1s", takes(0))
		f.job("second", "@every 5s", takes(1200*time.Millisecond))
		f.job("long", "@every 1m", takes(25*time.Second))
		f.job("once", "@every 30s", takes(4*time.Second), jobs.WithDelivery(jobs.AtMostOnce))
		grace := scheduler.WithShutdownGrace(5 * time.Second)
		f.startMany(3, grace)
		restarts, life := 0, time.Hour
		if raceDetected {
			life = 8 * time.Minute
		}
		for now := time.Duration(0); now < life-time.Minute; restarts++ {
			now += 17*time.Second + time.Duration(restarts%7)*533*time.Millisecond
			f.sleepTo(now)
			id := string(rune('a' + restarts%3))
			r := f.replica(id)
			r.stop() // the next one comes at once, as in a deploy with a surge
			f.start(id+fmt.Sprint(restarts), grace)
			f.halt(r)
			require.NoError(t, r.err)
			f.renamed(id+fmt.Sprint(restarts), id)
			now = time.Since(epoch)
		}
		f.sleepTo(life - 1)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": int(life/time.Second) - 1}, f.fates("instant"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": int(life/(5*time.Second)) - 1}, f.fates("second"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": int(life/(30*time.Second)) - 1}, f.fates("once"))
		fates := f.fates("long")
		require.Equal(t, int(life/time.Minute)-1, fates["succeeded"]+fates["skipped"], "%v", fates)
		stopped := 0
		for _, a := range f.runs.of("") {
			if a.Job != "long" {
				require.Equal(t, 1, a.Attempt, "%s at %s", a.Job, since(a.Tick))
				require.Equal(t, a.Tick, a.start.UTC())
			} else if a.err != nil {
				stopped++
			}
		}
		require.Positive(t, stopped, "some are too long for the grace")
	})
}
