package fleet

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// freezeBetweenTicks freezes workers when no run is under way, so that none is to be taken over.
// Ticks are whole seconds.
func (f *fleet) freezeBetweenTicks(ws ...*worker) time.Time {
	f.t.Helper()
	f.waitFor("a moment between ticks", 30*time.Second, func(runs []*run) bool {
		now := time.Now()
		if d := now.Sub(now.Truncate(time.Second)); d < 450*time.Millisecond || d > 700*time.Millisecond {
			return false
		}
		return !slices.ContainsFunc(runs, func(r *run) bool { return !r.ended || now.Sub(r.last) < 200*time.Millisecond })
	})
	for _, w := range ws {
		w.signal(syscall.SIGSTOP)
	}
	return time.Now()
}

func TestWorkerThatSleptMissesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	const sleep = 21 * time.Second
	policies := []string{"skip", "latest", "all"}
	var list []string
	for _, p := range policies {
		list = append(list, job(p, "@every 1s", 0, "misfire: "+p, "misfire_grace: 10s", "overlap: allow"))
	}
	f := orderlyFleet(t, 2*time.Second, list...)
	ws := f.startAll("r1", "r2", "r3")
	from := time.Now()
	var sleeper *worker // that owns a job
	f.waitFor("the replicas know each other", 60*time.Second, func(runs []*run) bool {
		if time.Since(from) < 5*time.Second || len(runs) == 0 {
			return false
		}
		newest := slices.MaxFunc(runs, func(a, b *run) int { return a.at.Compare(b.at) })
		sleeper = ws[slices.IndexFunc(ws, func(w *worker) bool { return w.name == newest.replica })]
		return true
	})
	slept := f.freezeBetweenTicks(sleeper)
	time.Sleep(sleep)
	sleeper.signal(syscall.SIGCONT)
	woke := time.Now()
	time.Sleep(3 * time.Second)
	to := time.Now().Add(-1500 * time.Millisecond)
	f.judge()
	for _, p := range policies {
		f.everyTick(p, time.Second, from, to)
		for _, r := range f.runs(p) {
			require.Equal(t, 1, r.attempt, "%s at %d", p, r.tick)
			if tick := time.UnixMilli(r.tick); r.replica == sleeper.name && tick.After(slept) {
				require.Less(t, woke.Sub(tick), busy, "the one that slept ran a tick of its sleep")
			}
		}
		for _, h := range f.history(p) {
			if h.Scheduled.After(from) {
				require.NotEqual(t, "missed", h.Outcome, "%+v", h)
			}
		}
	}
}

func TestMisfiresOfAFleetThatSlept(t *testing.T) {
	t.Parallel()
	var list []string
	for _, p := range []string{"skip", "latest", "all"} {
		list = append(list, job(p, "@every 1s", 0, "misfire: "+p, "misfire_grace: 1s", "overlap: queue"))
	}
	f := orderlyFleet(t, 2*time.Second, list...)
	ws := f.startAll("r1", "r2", "r3")
	time.Sleep(2 * time.Second)
	down := f.freezeBetweenTicks(ws...)
	time.Sleep(8 * time.Second)
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1300 * time.Millisecond))) // not at a tick's limit
	for _, w := range ws {
		w.signal(syscall.SIGCONT)
	}
	up := time.Now()
	time.Sleep(5 * time.Second)
	f.judge()
	f.everyTick("all", time.Second, down, up.Add(2*time.Second))

	// A token begins with the time of its grant. A tick that was late by more than the grace at the
	// first one is a misfire.
	first := int64(math.MaxInt64)
	for _, r := range f.runs("") {
		require.Equal(t, 1, r.attempt, "%s at %d", r.job, r.tick)
		if granted := r.token / 1000; granted >= up.UnixMilli()-10 {
			first = min(first, granted)
		}
	}
	late := map[string][]int64{}
	for _, r := range f.runs("") {
		if r.tick > down.UnixMilli() && r.tick < first-1000 {
			late[r.job] = append(late[r.job], r.tick)
		}
	}
	require.Empty(t, late["skip"])
	require.Len(t, late["latest"], 1)
	require.GreaterOrEqual(t, len(late["all"]), 7)
	require.Equal(t, slices.Max(late["all"]), late["latest"][0], "not the newest")
	require.True(t, slices.IsSorted(late["all"]), "oldest first: %v", late["all"])
	for _, tick := range late["all"] {
		require.Equal(t, "missed", f.outcomeOf("skip", tick).Outcome, fmt.Sprint(tick))
	}
}
