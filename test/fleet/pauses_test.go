package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPauseOutlastsEveryWorker(t *testing.T) {
	t.Parallel()
	const every = 2 * time.Second
	f := orderlyFleet(t, 2*time.Second, job("job", "@every 2s", 12, "misfire: all", "misfire_grace: 1s"))
	ws := byName(f.startAll("r1", "r2", "r3"))
	during := f.fresh("job")
	require.Contains(t, f.do("pause", "job", "--by", "anna", "--reason", "the database moves"), "job is paused: by anna since ")
	paused := time.Now()
	f.waitRun("what runs goes on", 15*time.Second, func(r *run) bool { return r.tick == during.tick && r.ended })
	time.Sleep(every)
	stopAll(ws)
	time.Sleep(every) // a tick while nobody is there
	for _, w := range ws {
		restart(ws, w)
	}
	time.Sleep(2 * every)
	resuming := time.Now()
	require.Contains(t, f.do("resume", "job", "--by", "bert"), "job is resumed; it was paused by anna since ")
	resumed := time.Now()
	next := resumed.Truncate(every).Add(every)
	f.waitRun("the next tick completes", 15*time.Second, func(r *run) bool { return r.tick == next.UnixMilli() && r.ended })

	f.judge()
	for _, r := range f.runs("job") {
		tick := time.UnixMilli(r.tick)
		require.Equal(t, 1, r.attempt)
		require.False(t, tick.After(paused) && tick.Before(resuming), "the tick of %s came due in the pause, and ran at %s", tick, r.at)
		if r.tick == next.UnixMilli() {
			require.Less(t, r.at.Sub(next), time.Second+busy)
		}
	}
	n := 0
	for tick := paused.Truncate(every).Add(every); tick.Before(resuming); tick = tick.Add(every) {
		got := f.outcomeOf("job", tick.UnixMilli())
		require.Equal(t, "skipped", got.Outcome, "the tick of %s: %+v", tick, got)
		require.Equal(t, "paused", got.Reason, "the tick of %s", tick)
		text := f.why("job", tick)
		require.Contains(t, text, "It was skipped because the job was paused by anna at ")
		require.Contains(t, text, ", until bert resumed it at ")
		n++
	}
	require.GreaterOrEqual(t, n, 4)
}

func TestPauseOutlastsTheRecordsOfRedis(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second, job("job", "@every 1s", 0))
	f.startAll("r1", "r2", "r3")
	f.fresh("job")
	f.do("pause", "job", "--by", "anna")
	paused := time.Now()
	time.Sleep(1200 * time.Millisecond) // a tick by which the replicas know
	for range 2 {
		f.redis.Kill()
		f.redis.Restart()
		time.Sleep(2500 * time.Millisecond)
	}
	resuming := time.Now()
	require.Contains(t, f.do("resume", "job"), "it was paused by anna since ")
	f.waitRun("a tick runs again", 10*time.Second, func(r *run) bool { return r.tick > resuming.UnixMilli() && r.ended })
	f.judge()
	for _, r := range f.runs("job") {
		tick := time.UnixMilli(r.tick)
		require.False(t, tick.After(paused) && tick.Before(resuming), "the tick of %s came due in the pause, and ran at %s", tick, r.at)
	}
}
