package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// wrongClock is a fleet of three whose Redis has a clock of its own.
func wrongClock(t *testing.T, ttl time.Duration, jobs ...string) *fleet {
	t.Helper()
	return newFleet(t, redistest.Start(t, redistest.WithClock()), ttl, jobs...)
}

// sleepToEvery sleeps to a while after the next multiple of a period.
func sleepToEvery(period, after time.Duration) time.Time {
	at := time.Now().Truncate(period).Add(period)
	time.Sleep(time.Until(at.Add(after)))
	return at
}

// TestRedisClockWrongForAMomentStopsNothing puts the clock of Redis 8 h ahead for 4 s.
func TestRedisClockWrongForAMomentStopsNothing(t *testing.T) {
	t.Parallel()
	f := wrongClock(t, 5*time.Second, job("often", "@every 2s", 1), job("hourly", "@every 1h", 1), job("daily", "0 0 * * *", 1))
	f.startAll("r1", "r2", "r3")
	f.waitRun("often runs", 20*time.Second, func(r *run) bool { return r.job == "often" })
	sleepToEvery(2*time.Second, 500*time.Millisecond)
	f.redis.SetClock(8 * time.Hour)
	time.Sleep(4 * time.Second)
	f.redis.SetClock(0)
	right := time.Now()
	f.waitRun("a tick on time", 30*time.Second, func(r *run) bool {
		return r.tick > right.UnixMilli() && r.at.Sub(time.UnixMilli(r.tick)) < time.Second
	})
	first := time.Now()
	time.Sleep(8 * time.Second)
	f.judge() // each once, none early
	for _, r := range f.runs("") {
		require.Less(t, r.tick, time.Now().UnixMilli(), "%s ran early", r.job)
	}
	f.everyTick("often", 2*time.Second, first, time.Now().Add(-2*time.Second))
	t.Logf("the first tick on time came %s after the clock was right again", first.Sub(right))
}

// TestForwardClockStepTakesNoTickOver steps by a little more than the TTL while 20 ticks run, whose
// leases are not renewed for the next 3 s.
func TestForwardClockStepTakesNoTickOver(t *testing.T) {
	t.Parallel()
	const ttl = 15 * time.Second
	var jobs []string
	for i := range 20 {
		jobs = append(jobs, job(fmt.Sprint("job-", i), "@every 20s", 120))
	}
	f := wrongClock(t, ttl, jobs...)
	f.startAll("r1", "r2", "r3")
	sleepToEvery(20*time.Second, 500*time.Millisecond)
	f.waitFor("all run", 10*time.Second, func(runs []*run) bool { return len(runs) >= 20 })
	before := len(f.runs(""))
	f.redis.SetClock(ttl + time.Second)
	time.Sleep(7 * time.Second)
	twice := 0
	for _, r := range f.runs("") {
		if r.attempt > 1 {
			twice++
		}
	}
	require.Zero(t, twice, "of %d ticks run on two replicas", before)
}

// TestFleetGoesThroughAJumpAndACorrection has the clock of Redis jump for a few seconds, in which a
// worker starts and commands are given, and then be corrected for good. One worker's own clock is 5
// minutes off.
func TestFleetGoesThroughAJumpAndACorrection(t *testing.T) {
	t.Parallel()
	const ttl, every, correction = 8 * time.Second, 2 * time.Second, time.Hour
	f := wrongClock(t, ttl, job("often", "@every 2s", 1), rare("limited", 1, "rate: 1/1h"))
	others := []*worker{f.startSkewed("skewed", 5*time.Minute)} // first, so that it runs ticks, whichever replica owns the job later
	others[0].waitReady()
	f.waitRun("the worker whose clock is wrong runs ticks", time.Minute, func(r *run) bool { return r.replica == "skewed" && r.ended })
	others = append(others, f.startAll("r1", "r2")...)
	from := sleepToEvery(every, time.Second)

	jumped := time.Now()
	f.redis.SetClock(8 * time.Hour)
	late := f.start("late")
	for _, command := range [][]string{{"trigger", "limited"}, {"pause", "often"}} {
		o := f.run(command...)
		require.Equal(t, 1, o.code, "%s: %s", command, o.stdout)
		require.Contains(t, o.stderr, "ahead of this machine's, and no live replica trusts it, so nothing was changed", "%s", command)
		require.NotContains(t, o.stderr, "check that Redis runs")
	}
	time.Sleep(time.Until(jumped.Add(4 * time.Second)))
	require.Empty(t, runsOf(f, "late"), "it claims nothing by a clock that is wrong")
	f.redis.SetClock(0)
	right := time.Now()
	f.waitRun("a tick is on time", 20*time.Second, func(r *run) bool {
		return r.tick > right.UnixMilli() && r.at.Sub(time.UnixMilli(r.tick)) < time.Second
	})
	late.waitReady()
	for _, w := range others { // so that it need not be the first
		w.stop()
	}
	f.waitRun("the worker that started meanwhile runs ticks", 30*time.Second, func(r *run) bool { return r.replica == "late" && r.ended })
	require.NotContains(t, f.do("status"), "paused")
	f.do("trigger", "limited") // the one that was refused took nothing of the rate, and left no time of its own
	f.waitRun("what was triggered", 10*time.Second, func(r *run) bool { return r.job == "limited" && r.ended })
	sleepToEvery(every, time.Second)
	f.judge()
	f.everyTick("often", every, from.Add(-time.Millisecond), jumped)
	for _, r := range f.runs("") {
		require.Equal(t, 1, r.attempt, "%s at %d", r.job, r.tick)
	}

	f.redis.SetClock(correction)
	corrected := time.Now()
	first := f.waitRun("ticks follow the correction", ttl+20*time.Second, func(r *run) bool {
		due := time.UnixMilli(r.tick).Add(-correction)
		return r.job == "often" && due.After(corrected) && r.at.Sub(due) < time.Second
	})
	t.Logf("the first tick on time came %s after the correction", first.at.Sub(corrected))
	require.Greater(t, first.at.Sub(corrected), ttl, "not before it was steady for a TTL")
}

// runsOf are the runs of a replica.
func runsOf(f *fleet, replica string) (runs []*run) {
	for _, r := range f.runs("") {
		if r.replica == replica {
			runs = append(runs, r)
		}
	}
	return runs
}
