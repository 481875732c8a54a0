package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// TestWaitForAttemptDoesNotDelayStop: the worker gives the run up, and another goes on with the
// next attempt.
func TestWaitForAttemptDoesNotDelayStop(t *testing.T) {
	t.Parallel()
	const retry = "retry: {max_attempts: 5, backoff: 1h, max_backoff: 1h}"
	f := newFleet(t, redistest.Start(t), 5*time.Second,
		job("again", "@every 1h", 1, retry), job("once", "@every 1h", 1, retry, "delivery: at_most_once"))
	f.writeConfig(strings.ReplaceAll(f.configText(), "env: {", "env: {FAILURES: \"1\", "))
	first := f.startAll("r1")[0]
	f.do("trigger", "again")
	f.do("trigger", "once")
	again := f.waitRun("it fails", 30*time.Second, func(r *run) bool { return r.job == "again" && !f.said("fail", r).IsZero() })
	once := f.waitRun("it fails", 30*time.Second, func(r *run) bool { return r.job == "once" && !f.said("fail", r).IsZero() })
	require.Eventually(t, func() bool { return strings.Count(first.log.String(), "trying again") >= 2 }, patience, 10*time.Millisecond)
	second := f.startAll("r2")[0]
	stopped := time.Now()
	require.Less(t, first.stop(), 3*time.Second+busy, "of a grace of 30 s")

	next := f.waitRun("the next attempt", 30*time.Second, func(r *run) bool { return r.job == "again" && r.attempt == 2 })
	require.Equal(t, again.tick, next.tick)
	require.Equal(t, "r2", next.replica)
	f.waitFor("it succeeds", 20*time.Second, func([]*run) bool { return f.outcomeOf("again", again.tick).Outcome == "succeeded" })
	for _, r := range append(f.runs("again"), f.runs("once")...) {
		require.False(t, r.replica == "r1" && r.at.After(stopped), "an attempt began after SIGTERM: %+v", r)
	}
	require.Equal(t, "lost", f.outcomeOf("once", once.tick).Outcome)
	require.Contains(t, f.why("once", time.UnixMilli(once.tick)), "stopped at")
	require.Len(t, f.runs("once"), 1)
	second.stop()
}

// TestRunEndedDuringAnOutageKeepsItsDuration though it is settled when Redis answers again.
func TestRunEndedDuringAnOutageKeepsItsDuration(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	f := newFleet(t, srv, 30*time.Second, job("job", "@every 1h", 30))
	w := f.startAll("r1")[0]
	f.do("trigger", "job")
	r := f.begun("job")
	srv.Freeze()
	time.Sleep(9 * time.Second)
	srv.Thaw()
	f.waitFor("it is settled", 20*time.Second, func([]*run) bool { return f.outcomeOf("job", r.tick).Outcome == "succeeded" })
	took := time.Duration(f.outcomeOf("job", r.tick).Took) * time.Millisecond
	require.Less(t, took, 8*time.Second, "it ran for little more than 3 s, and was settled after 9 s")
	require.GreaterOrEqual(t, took, 3*time.Second)
	w.stop()
}
