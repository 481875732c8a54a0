package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// overdue returns for how long a replica says that a job is overdue.
func (r *replica) overdue(t *testing.T, name string) time.Duration {
	t.Helper()
	for _, job := range r.Jobs() {
		if job.Name == name {
			return job.Overdue
		}
	}
	require.Fail(t, "no such job", name)
	return 0
}

func (f *fleet) requireOverdue(name string, want, within time.Duration) {
	f.t.Helper()
	for _, r := range f.replicas {
		require.InDelta(f.t, want.Seconds(), r.overdue(f.t, name).Seconds(), within.Seconds(), "%s of %s", name, r.Replica())
	}
}

func TestPunctualFleetIsNeverOverdue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		second := jobs.WithMisfire(jobs.MisfireLatest, time.Second)
		for _, overlap := range []jobs.Overlap{jobs.Forbid, jobs.Allow, jobs.Queue, jobs.Replace} {
			f.job("long-"+string(overlap), "@every 10s", takes(27*time.Second), jobs.WithOverlap(overlap), second)
			f.job("short-"+string(overlap), "@every 2s", takes(100*time.Millisecond), jobs.WithOverlap(overlap), second)
		}
		f.job("jitter", "@every 10s", takes(0), jobs.WithJitter(5*time.Second), second)
		f.job("weekday", "0 0 * * MON", takes(0), second) // 2000 began on a Saturday
		f.job("paused", "@every 5s", takes(0), pausedByConfig, second)
		f.job("pausing", "@every 5s", takes(0), second)
		f.startMany(3)
		for range 1200 {
			f.sleepTo(time.Since(epoch) + 100*time.Millisecond)
			if time.Since(epoch) == 30*time.Second {
				f.pause("pausing")
			}
			for _, r := range f.replicas {
				for _, job := range r.Jobs() {
					require.Zero(t, job.Overdue, "%s on %s after %s", job.Name, r.Replica(), time.Since(epoch))
				}
			}
		}
	})
}

func TestClockChangesMakeNothingOverdue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		time.Sleep(time.Until(time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC))) // the clocks change in an hour
		f.job("in-the-gap", "30 2 * * *", takes(0), jobs.WithTimezone("Europe/Berlin"), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
		f.start("a")
		hours := 24
		if raceDetected {
			hours = 3
		}
		for range hours * 60 {
			time.Sleep(time.Minute)
			synctest.Wait()
			f.requireOverdue("in-the-gap", 0, 0)
		}
		require.Len(t, f.runs.of("in-the-gap"), 1)
	})
}

func TestJobIsOverdueWhileTheStoreIsAway(t *testing.T) {
	for name, fail := range away {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("skip", "@every 10s", takes(time.Second), jobs.WithMisfire(jobs.MisfireSkip, 5*time.Second))
				f.job("all", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, 3*time.Second))
				f.job("hourly", "@hourly", takes(0))
				f.startMany(3)
				f.sleepTo(19 * time.Second)
				f.every(fail)
				f.sleepTo(5*time.Minute + 7*time.Second)
				f.requireOverdue("skip", 5*time.Minute+7*time.Second-25*time.Second, 10*time.Millisecond)
				f.requireOverdue("all", 5*time.Minute+7*time.Second-23*time.Second, 10*time.Millisecond)
				f.requireOverdue("hourly", 0, 0)
				f.every((*link).heal)
				f.sleepTo(5*time.Minute + 18*time.Second)
				for _, job := range []string{"skip", "all", "hourly"} {
					f.requireOverdue(job, 0, 0)
				}
			})
		})
	}
}

func TestStoreAwayFromTheStartMakesOverdue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireSkip, 5*time.Second))
		f.sleepTo(2 * time.Second)
		f.start("a").link.cut()
		r := f.replica("a")
		f.sleepTo(14 * time.Second)
		require.Zero(t, r.overdue(t, "job"))
		f.sleepTo(40 * time.Second)
		f.requireOverdue("job", 25*time.Second, 10*time.Millisecond)
		r.link.heal()
		f.sleepTo(48 * time.Second)
		f.requireOverdue("job", 0, 0)
	})
}

func TestJobWithoutRoomIsOverdue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("hog", "@every 10s", takes(24*time.Second))
		f.job("waits", "@every 15s", takes(0), jobs.WithMisfire(jobs.MisfireAll, 3*time.Second))
		f.start("a", scheduler.WithMaxRuns(1))
		f.sleepTo(30 * time.Second)
		f.requireOverdue("waits", 12*time.Second, 50*time.Millisecond)
		f.sleepTo(36 * time.Second)
		f.requireOverdue("waits", 0, 0)
	})
}

func TestTickThatNobodyTakesOverIsOverdue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(time.Minute), jobs.WithMisfire(jobs.MisfireLatest, 2*time.Second))
		f.sleepTo(59 * time.Minute)
		f.startMany(2)
		f.sleepTo(time.Hour + 10*time.Second)
		require.Len(t, f.runs.of("job"), 1)
		holder := f.runs.of("job")[0].Replica
		f.requireOverdue("job", 0, 0)
		f.every((*link).cut)
		f.sleepTo(time.Hour + 40*time.Second)
		for _, r := range f.replicas {
			if r.Replica() != holder { // its holder lost it within a TTL, at 13 s at the latest
				require.InDelta(t, 25, r.overdue(t, "job").Seconds(), ttl.Seconds()+1)
			}
		}
		f.every((*link).heal)
		f.sleepTo(time.Hour + 50*time.Second)
		f.requireOverdue("job", 0, 0)
	})
}

func TestTickBehindAnEarlierIsNotOverdue(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(7*time.Second), jobs.WithMisfire(jobs.MisfireAll, time.Second))
		f.startMany(3)
		f.sleepTo(20500 * time.Millisecond)
		f.stopAll()
		f.sleepTo(101 * time.Second)
		f.replicas = nil
		f.startMany(3)
		f.sleepTo(103 * time.Second)
		for time.Since(epoch) < 150*time.Second { // eight are run one after the other
			f.sleepTo(time.Since(epoch) + 100*time.Millisecond)
			f.requireOverdue("job", 0, 0)
		}
	})
}
