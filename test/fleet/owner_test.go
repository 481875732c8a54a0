package fleet

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

// TestEachTickRunsOnceUnderOwnerFaults freezes, kills and stops the replica that claims the ticks
// of a job, one after the other.
func TestEachTickRunsOnceUnderOwnerFaults(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Start(t), 2*time.Second, job("job", "@every 3s", 0, "misfire_grace: 10s", "overlap: allow"))
	ws := f.startAll("r1", "r2", "r3", "r4")
	time.Sleep(5 * time.Second) // they know each other
	from := sleepToEvery(3*time.Second, 1500*time.Millisecond)
	lost := map[string]time.Time{}
	for _, end := range []func(w *worker){
		func(w *worker) { w.signal(syscall.SIGSTOP) },
		func(w *worker) { w.kill() },
		func(w *worker) { w.stop() },
	} {
		began := time.Now()
		var owner *worker
		f.waitFor("the owner has run a tick", 30*time.Second, func(runs []*run) bool {
			if len(runs) == 0 {
				return false
			}
			newest := slices.MaxFunc(runs, func(a, b *run) int { return a.at.Compare(b.at) })
			if since := time.Since(newest.last); !newest.ended || newest.at.Before(began) || since < time.Second || since > 2*time.Second {
				return false // it may not be settled yet, or the next one may have begun
			}
			owner = ws[slices.IndexFunc(ws, func(w *worker) bool { return w.name == newest.replica })]
			return true
		})
		lost[owner.name] = time.Now()
		end(owner)
		gone := time.Now()
		next := f.waitRun("another replica runs a tick", 10*time.Second, func(r *run) bool { return r.at.After(gone) && r.replica != owner.name })
		require.Less(t, next.at.Sub(time.UnixMilli(next.tick)), time.Second+busy)
	}
	to := time.Now().Add(-1500 * time.Millisecond)
	f.judge()
	f.everyTick("job", 3*time.Second, from, to)
	for _, r := range f.runs("job") {
		require.Equal(t, 1, r.attempt, "%d", r.tick)
		if at, ok := lost[r.replica]; ok {
			require.True(t, r.at.Before(at.Add(busy)), "%s ran a tick after it was gone", r.replica)
		}
	}
}
