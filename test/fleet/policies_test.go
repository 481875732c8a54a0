package fleet

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Runs of 2.5 s that are due each second follow each other, one at a time, when a holder is killed,
// another frozen and a third one stopped.
func TestQueuedRunsSurviveKillFreezeAndStop(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	f := orderlyFleet(t, ttl, job("queued", "@every 1s", 25, "overlap: queue"))
	ws := byName(f.startAll("r1", "r2", "r3"))
	takenOver := func(victim *run, since time.Time) *run {
		next := f.waitRun("the tick is taken over", 15*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 })
		require.Less(t, next.at.Sub(since), ttl+time.Second+busy, "a term and a second after the last renewal")
		f.waitRun("and completes", 15*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 && r.ended })
		f.waitRun("and is followed", 15*time.Second, func(r *run) bool { return r.tick > victim.tick && r.attempt == 1 })
		return next
	}

	killed := f.fresh("queued")
	since := time.Now()
	ws[killed.replica].kill()
	takenOver(killed, since)
	restart(ws, ws[killed.replica])

	frozen := f.fresh("queued")
	since = time.Now()
	ws[frozen.replica].freeze(3 * ttl)
	require.NotEqual(t, frozen.replica, takenOver(frozen, since).replica)

	stopped := f.fresh("queued")
	ws[stopped.replica].signal(syscall.SIGTERM) // which lets the run finish
	f.waitRun("it is followed elsewhere", 15*time.Second, func(r *run) bool { return r.token > stopped.token && r.replica != stopped.replica })
	delete(ws, stopped.replica)
	stopAll(ws)

	f.judge()
	f.oneAtATime("queued")
	runs := f.runs("queued")
	completed := map[int64]bool{}
	for _, r := range runs {
		completed[r.tick] = completed[r.tick] || r.ended
	}
	var gaps []time.Duration
	for i, r := range runs {
		require.True(t, completed[r.tick], "the tick of %d started and never completed", r.tick)
		if i > 0 && runs[i-1].ended {
			gaps = append(gaps, r.at.Sub(runs[i-1].last))
		}
		if !r.ended {
			require.Contains(t, []int64{killed.tick, frozen.tick}, r.tick, "a run was interrupted on %s", r.replica)
		}
	}
	require.GreaterOrEqual(t, len(completed), 4)
	require.Less(t, median(gaps), time.Second, "ticks wait after the run before them has ended")
}

// A run that is replaced is notified at once, and has its kill grace to end; but no longer than its
// lease, which is not renewed any more.
func TestReplacedRunsEndBeforeTheirSuccessorsStart(t *testing.T) {
	t.Parallel()
	const ttl, every = 3 * time.Second, 6 * time.Second
	f := orderlyFleet(t, ttl,
		with(`LINGER: "3"`, job("polite", "@every 6s", 200, "overlap: replace")),
		with(`DEAF: "1"`, job("deaf", "@every 6s", 200, "overlap: replace")),
		with(`DEAF: "1"`, killGrace("30s", job("stubborn", "@every 6s", 200, "overlap: replace"))))
	f.startAll("r1", "r2", "r3")
	// How long after its tick a run may start, the first of its job excepted.
	limit := map[string]time.Duration{
		"polite": 1300 * time.Millisecond, "deaf": 2 * time.Second, "stubborn": ttl + time.Second,
	}
	var first time.Time
	f.waitFor("four runs of each", 60*time.Second, func(runs []*run) bool {
		n := map[string]int{}
		for _, r := range runs {
			n[r.job]++
			if first.IsZero() {
				first = time.UnixMilli(r.tick)
			}
		}
		return n["polite"] >= 4 && n["deaf"] >= 4 && n["stubborn"] >= 4
	})
	f.judge()
	for name, limit := range limit {
		f.oneAtATime(name)
		runs := f.runs(name)
		var delays, lags []time.Duration // of the SIGTERM, and of the start of the next run
		for i, after := range runs[1:] {
			before, due := runs[i], time.UnixMilli(after.tick)
			require.Equal(t, before.tick+every.Milliseconds(), after.tick, "%s: a tick had no run", name)
			require.Equal(t, 1, after.attempt)
			told := f.said("told", before)
			require.False(t, told.IsZero(), "%s: the run of %d was not told", name, before.tick)
			require.False(t, told.Before(due), "%s: the run of %d was told before its successor was due", name, before.tick)
			delays, lags = append(delays, told.Sub(due)), append(lags, after.at.Sub(due))
			switch {
			case name == "polite":
				require.False(t, f.said("left", before).IsZero(), "the run of %d had no time to end in good order", before.tick)
			default:
				require.Greater(t, before.last.Sub(told), 300*time.Millisecond, "%s: the run of %d was killed within its kill grace", name, before.tick)
			}
			require.Equal(t, "replaced", f.outcomeOf(name, before.tick).Outcome)
		}
		require.Less(t, median(delays), time.Second, "%s: the runs were told late", name)
		require.Less(t, median(lags), limit, "%s: the runs started late", name)
	}
}

// What replaces the run of a holder that is frozen or dead starts a second after that one's lease
// has run out, at the latest.
func TestReplacementWaitsAtMostTheLease(t *testing.T) {
	t.Parallel()
	const ttl, every = 2 * time.Second, 4 * time.Second
	f := orderlyFleet(t, ttl, with(`LINGER: "2"`, job("replaced", "@every 4s", 200, "overlap: replace")))
	ws := byName(f.startAll("r1", "r2", "r3"))
	harm := func(how func(*worker)) {
		victim := f.fresh("replaced")
		time.Sleep(time.Until(time.UnixMilli(victim.tick).Add(every - 400*time.Millisecond)))
		since := time.Now()
		how(ws[victim.replica])
		next := f.waitRun("the next tick starts", 15*time.Second, func(r *run) bool { return r.tick == victim.tick+every.Milliseconds() })
		require.NotEqual(t, victim.replica, next.replica)
		require.Less(t, next.at.Sub(since), ttl+time.Second+busy)
		require.Equal(t, 1, next.attempt)
		require.Equal(t, "replaced", f.outcomeOf("replaced", victim.tick).Outcome)
	}
	harm(func(w *worker) { w.freeze(3 * ttl) })
	harm((*worker).kill)
	f.judge()
	f.oneAtATime("replaced")
}

func TestAtMostOnceTicksNeverStartTwice(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	once := "delivery: at_most_once"
	f := orderlyFleet(t, ttl,
		job("queued", "@every 1s", 25, "overlap: queue", once),
		with(`LINGER: "2"`, job("replaced", "@every 3s", 200, "overlap: replace", once)))
	ws := byName(f.startAll("r1", "r2", "r3"))
	for _, name := range []string{"queued", "replaced"} {
		for _, how := range []string{"kill", "freeze"} {
			victim := f.fresh(name)
			w := ws[victim.replica]
			if how == "kill" {
				w.kill()
			} else {
				w.freeze(3 * ttl)
			}
			f.waitRun("the next one starts", 15*time.Second, func(r *run) bool { return r.job == name && r.tick > victim.tick })
			require.Contains(t, []string{"lost", "replaced"}, f.outcomeOf(name, victim.tick).Outcome)
			if how == "kill" {
				restart(ws, w)
			}
		}
	}
	f.judge()
	for _, name := range []string{"queued", "replaced"} {
		f.oneAtATime(name)
		ticks := map[int64]bool{}
		for _, r := range f.runs(name) {
			require.Equal(t, 1, r.attempt, "the tick of %d started twice", r.tick)
			require.False(t, ticks[r.tick], "the tick of %d started twice", r.tick)
			ticks[r.tick] = true
		}
	}
}

// A command that a stopping worker cancels has its kill grace, though that is longer than the
// lease's TTL: the lease is kept meanwhile. Only then does another worker start the tick.
func TestStoppingWorkerLetsItsCommandEnd(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	f := orderlyFleet(t, ttl, with(`LINGER: "30"`, killGrace("8s", job("long", "@every 15s", 60))))
	f.writeConfig(strings.Replace(f.configText(), "jobs:", "shutdown_grace: 1s\njobs:", 1))
	ws := byName(f.startAll("r1", "r2", "r3"))
	victim := f.fresh("long")
	stopped := time.Now()
	w := ws[victim.replica]
	w.signal(syscall.SIGTERM)
	next := f.waitRun("another goes on", 20*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 })
	told, left := f.said("told", victim), f.said("left", victim)
	require.False(t, told.IsZero(), "the command was not told")
	require.Greater(t, told.Sub(stopped), 900*time.Millisecond, "the shutdown grace was cut short")
	require.Less(t, told.Sub(stopped), 2*time.Second+busy)
	require.False(t, left.IsZero(), "the command was killed before it could end in good order")
	require.NotEqual(t, victim.replica, next.replica)
	require.False(t, next.at.Before(left))
	require.Less(t, next.at.Sub(left), time.Second+busy)
	<-w.Done()
	require.NoError(t, w.Err())
	require.Contains(t, w.log.String(), "run stopped, tick released", "the other need not wait until the lease runs out")
	f.waitRun("and completes", 15*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 && r.ended })
	f.judge()
}
