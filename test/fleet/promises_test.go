package fleet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

func TestEachTickRunsOnceUnderWrongClocks(t *testing.T) {
	f := newFleet(t, redistest.Start(t), 3*time.Second, manyJobs(10)...)
	skews := []time.Duration{0, 400 * time.Millisecond, -400 * time.Millisecond, time.Minute, -time.Minute}
	for i, skew := range skews {
		f.startSkewed(fmt.Sprintf("r%d", i), skew).waitReady()
	}
	from := time.Now()
	time.Sleep(10 * time.Second)
	to := time.Now().Add(-time.Second)
	f.judge()
	replicas, late := map[string]int{}, map[string][]time.Duration{}
	for i := range 10 {
		name := fmt.Sprintf("job-%d", i)
		f.everyTick(name, time.Second, from, to)
		for _, r := range f.runs(name) {
			replicas[r.replica]++
			require.Equal(t, 1, r.attempt)
			late[r.replica] = append(late[r.replica], r.at.Sub(time.UnixMilli(r.tick)))
		}
	}
	for replica, late := range late {
		require.Less(t, median(late), 900*time.Millisecond, "runs start late on %s", replica)
		require.Less(t, slices.Max(late), 900*time.Millisecond+busy, "a run started late on %s", replica)
	}
	t.Log("runs by replica:", replicas)
	require.Positive(t, replicas["r3"]+replicas["r4"], "a replica whose clock is a minute wrong runs ticks too")
}

func manyJobs(n int) []string {
	var jobs []string
	for i := range n {
		jobs = append(jobs, job(fmt.Sprintf("job-%d", i), "@every 1s", 0, "overlap: allow"))
	}
	return jobs
}

func TestRunLongerThanTheTTLKeepsItsLease(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), time.Second, job("long", "@every 5s", 35))
	f.startAll("r1", "r2", "r3")
	f.waitRun("a run of 3.5 terms ends", 15*time.Second, func(r *run) bool { return r.ended })
	f.judge()
	for _, r := range f.runs("long") {
		require.Equal(t, 1, r.attempt)
	}
}

func TestKilledHolderIsTakenOverByDelivery(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), 2*time.Second,
		job("again", "@every 6s", 20, "overlap: allow"),
		job("never", "@every 6s", 20, "overlap: allow", "delivery: at_most_once"))
	workers := byName(f.startAll("r1", "r2", "r3"))

	for _, name := range []string{"again", "never"} {
		victim := f.waitRun("a run begins", 15*time.Second, func(r *run) bool {
			return r.job == name && r.entries > 3 && !r.ended && workers[r.replica] != nil
		})
		killed := time.Now()
		workers[victim.replica].kill()
		delete(workers, victim.replica)
		if name == "again" {
			next := f.waitRun("it is taken over", 10*time.Second, func(r *run) bool {
				return r.job == name && r.tick == victim.tick && r.attempt == 2
			})
			require.Greater(t, next.token, victim.token)
			require.Less(t, next.at.Sub(killed), 3*time.Second+busy, "a term + 1 s after the last renewal")
			f.waitRun("and completes", 10*time.Second, func(r *run) bool {
				return r.job == name && r.tick == victim.tick && r.attempt == 2 && r.ended
			})
		} else {
			time.Sleep(5 * time.Second)
			for _, r := range f.runs(name) {
				require.Equal(t, 1, r.attempt, "an at-most-once tick started twice")
			}
		}
		for _, r := range f.runs(name) {
			if r.tick == victim.tick && r.attempt == 1 {
				require.False(t, r.last.After(killed.Add(time.Second)), "the command outlived its worker by %s", r.last.Sub(killed))
				require.False(t, r.ended)
			}
		}
	}
	f.judge()
}

func byName(ws []*worker) map[string]*worker {
	m := map[string]*worker{}
	for _, w := range ws {
		m[w.name] = w
	}
	return m
}

func TestFrozenHoldersCommandEndsWithItsLease(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	f := newFleet(t, redistest.Start(t), ttl, job("long", "@every 8s", 30))
	workers := byName(f.startAll("r1", "r2"))
	victim := f.waitRun("a run begins", 15*time.Second, func(r *run) bool { return r.entries > 3 })
	frozen := time.Now()
	workers[victim.replica].signal(syscall.SIGSTOP)
	time.Sleep(3 * ttl)
	workers[victim.replica].signal(syscall.SIGCONT)
	f.waitRun("the tick completes elsewhere", 10*time.Second, func(r *run) bool {
		return r.tick == victim.tick && r.ended && r.replica != victim.replica
	})
	time.Sleep(500 * time.Millisecond)
	for _, r := range f.runs("long") {
		if r.tick == victim.tick && r.attempt == 1 {
			require.Less(t, r.last.Sub(frozen), ttl, "the frozen worker's command went on after its lease")
		}
	}
	f.judge()
	require.Contains(t, workers[victim.replica].log.String(), "run lost")
}

func TestFrozenRedisStopsRunsBeforeTheirLeasesEnd(t *testing.T) {
	t.Parallel()
	const ttl = 1500 * time.Millisecond
	redis := redistest.Start(t)
	f := newFleet(t, redis, ttl, job("long", "@every 4s", 100, "overlap: allow"))
	f.startAll("r1", "r2")
	f.waitRun("a run begins", 15*time.Second, func(r *run) bool { return r.entries > 3 })
	redis.Freeze()
	frozen := time.Now()
	time.Sleep(3 * ttl)
	during := f.runs("long")
	redis.Thaw()
	for _, r := range during {
		require.Less(t, r.last.Sub(frozen), ttl, "a run went on after its lease had ended")
		require.Less(t, r.at.Sub(frozen), time.Second, "a run started while Redis was away")
	}
	f.waitRun("a stopped tick is run again", 10*time.Second, func(r *run) bool { return r.attempt == 2 && r.entries > 2 })
	f.judge()
}

func TestDurableRedisRestartLosesNothing(t *testing.T) {
	redis := redistest.Start(t, redistest.WithAOF())
	f := newFleet(t, redis, 2*time.Second, append(manyJobs(5), job("long", "@every 3s", 10, "overlap: allow"))...)
	f.startAll("r1", "r2", "r3")
	from := time.Now()
	for range 2 {
		time.Sleep(2500 * time.Millisecond)
		redis.Kill()
		time.Sleep(time.Second)
		redis.Restart()
	}
	time.Sleep(5 * time.Second)
	to := time.Now().Add(-3 * time.Second)
	f.judge()
	for i := range 5 {
		f.everyTick(fmt.Sprintf("job-%d", i), time.Second, from, to)
	}
	f.everyTick("long", 3*time.Second, from, to)
}

func TestEmptyRedisRunsNothingTwice(t *testing.T) {
	redis := redistest.Start(t)
	f := newFleet(t, redis, 2*time.Second, append(manyJobs(10), job("long", "@every 3s", 20, "overlap: allow"))...)
	f.startAll("r1", "r2", "r3", "r4", "r5")
	var back time.Time
	for range 3 {
		time.Sleep(2300 * time.Millisecond)
		redis.Kill()
		redis.Restart()
		back = time.Now()
	}
	time.Sleep(4 * time.Second)
	f.judge()
	for i := range 10 {
		f.everyTick(fmt.Sprintf("job-%d", i), time.Second, back.Add(1500*time.Millisecond), time.Now().Add(-time.Second))
	}
}

func TestRollingRestartLosesNothing(t *testing.T) {
	f := newFleet(t, redistest.Start(t), 15*time.Second, append(manyJobs(5), job("long", "@every 2s", 8, "overlap: allow"))...)
	workers := f.startAll("r1", "r2", "r3")
	from := time.Now()
	for i := range 6 {
		time.Sleep(700 * time.Millisecond)
		took := workers[i%3].stop()
		require.Less(t, took, 4*time.Second+busy, "a stop takes as long as its runs")
		workers[i%3] = f.start(workers[i%3].name)
	}
	for _, w := range workers {
		w.waitReady()
	}
	time.Sleep(2 * time.Second)
	to := time.Now().Add(-1500 * time.Millisecond)
	f.judge()
	for i := range 5 {
		f.everyTick(fmt.Sprintf("job-%d", i), time.Second, from, to)
	}
	f.everyTick("long", 2*time.Second, from, to)
	for _, r := range f.runs("") {
		require.Equal(t, 1, r.attempt, "%s was interrupted", r.job)
	}
}

func TestStoppedReplicaHandsItsTickOver(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), 30*time.Second, job("long", "@every 10s", 40))
	text := strings.Replace(f.configText(), "jobs:", "shutdown_grace: 500ms\njobs:", 1)
	f.writeConfig(text)
	workers := byName(f.startAll("r1", "r2"))
	victim := f.waitRun("a run begins", 15*time.Second, func(r *run) bool { return r.entries > 3 })
	took := workers[victim.replica].stop()
	stopped := time.Now()
	require.Less(t, took, 3*time.Second+busy)
	next := f.waitRun("another goes on", 5*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 })
	require.Less(t, next.at.Sub(stopped), time.Second+busy, "not after the lease of 30 s")
	f.waitRun("and completes", 10*time.Second, func(r *run) bool { return r.tick == victim.tick && r.attempt == 2 && r.ended })
	f.judge()
}

func TestMisfiresOfAFleetThatWasDown(t *testing.T) {
	t.Parallel()
	policy := func(p string) string {
		return job(p, "@every 1s", 0, "misfire: "+p, "misfire_grace: 1s", "overlap: queue")
	}
	f := newFleet(t, redistest.Start(t), 2*time.Second, policy("skip"), policy("latest"), policy("all"))
	workers := f.startAll("r1", "r2")
	time.Sleep(2 * time.Second)
	for _, w := range workers {
		w.stop()
	}
	down := time.Now()
	time.Sleep(6 * time.Second)
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1300 * time.Millisecond))) // not at a tick's limit
	up := time.Now()
	f.startAll("r1", "r2")
	time.Sleep(4 * time.Second)
	f.judge()
	f.everyTick("all", time.Second, down, up) // a run that takes longer than a second later may cost the ticks behind it

	// A token begins with the time of its grant. A tick that was late by more than the grace at the
	// first one is a misfire.
	first := int64(math.MaxInt64)
	for _, r := range f.runs("") {
		if granted := r.token / 1000; granted > up.UnixMilli() {
			first = min(first, granted)
		}
	}
	late := func(job string) (n int) {
		for _, r := range f.runs(job) {
			if r.tick > down.UnixMilli() && r.tick < first-1000 && r.token/1000 >= first {
				n++
			}
		}
		return n
	}
	require.Equal(t, 0, late("skip"))
	require.Equal(t, 1, late("latest"))
	ticks := []int64{}
	for _, r := range f.runs("all") {
		ticks = append(ticks, r.tick)
	}
	require.True(t, slices.IsSorted(ticks), "oldest first: %v", ticks)
}

func TestRetriesAreNumberedAndSettled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), 2*time.Second,
		job("flaky", "@every 3s", 0, "retry: {max_attempts: 3, backoff: 100ms}"))
	f.writeConfig(strings.Replace(f.configText(), `TENTHS: "0"`, `TENTHS: "0", FAILURES: "2"`, 1))
	f.startAll("r1", "r2")
	done := f.waitRun("the third attempt succeeds", 10*time.Second, func(r *run) bool { return r.ended && r.attempt == 3 })
	var attempts []int
	for _, r := range f.runs("flaky") {
		if r.tick == done.tick {
			attempts = append(attempts, r.attempt)
			require.Equal(t, done.token, r.token, "retries share the lease")
			require.Equal(t, done.replica, r.replica)
		}
	}
	require.Equal(t, []int{1, 2, 3}, attempts)
	f.judge()
}
