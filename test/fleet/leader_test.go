package fleet

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leaderTask is a leader task that ends by itself after some tenths of a second.
func leaderTask(name string, tenths int, more ...string) string {
	return strings.Replace(job(name, "", tenths, more...), `schedule: ""`, "leader: true", 1)
}

func TestLeaderTaskSurvivesStopKillAndFreeze(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	f := orderlyFleet(t, ttl, leaderTask("led", 100000))
	ws := byName(f.startAll("r1", "r2", "r3"))
	after := func(token int64) *run {
		return f.waitRun("it runs", 20*time.Second, func(r *run) bool { return r.token > token && r.entries >= 2 })
	}
	leads := after(0)
	for _, c := range []struct {
		harm  string
		do    func(*worker)
		limit time.Duration
	}{
		{"stopped", func(w *worker) { w.signal(syscall.SIGTERM) }, 2 * ttl / 3}, // before its lease would have run out
		{"killed", (*worker).kill, ttl + time.Second + busy},
		{"frozen", func(w *worker) { w.freeze(3 * ttl) }, ttl + time.Second + busy},
	} {
		w, since := ws[leads.replica], time.Now()
		c.do(w)
		next := after(leads.token)
		require.NotEqual(t, leads.replica, next.replica)
		require.Less(t, next.at.Sub(since), c.limit, "its replica was %s", c.harm)
		if c.harm != "frozen" {
			<-w.Done()
			restart(ws, w)
		}
		leads = next
	}
	time.Sleep(time.Second) // for what the thawed one may do yet
	f.judge()
	f.oneAtATime("led")
	require.Len(t, f.runs("led"), 4)
	f.writesOn(f.runs("led")[3])
}

func TestEndingLeaderTaskRestartsWithBackOff(t *testing.T) {
	t.Parallel()
	const again = 5
	first, most := 200*time.Millisecond, 800*time.Millisecond
	retry := fmt.Sprintf("retry: {backoff: %s, max_backoff: %s}", first, most)
	f := orderlyFleet(t, 2*time.Second, leaderTask("ends", 1, retry), with(`FAILURES: "9999"`, leaderTask("fails", 1, retry)))
	f.startAll("r1", "r2", "r3")
	for _, name := range []string{"ends", "fails"} {
		f.waitFor("it is started again and again", 30*time.Second, func(runs []*run) bool {
			n := 0
			for _, r := range runs {
				if r.job == name {
					n++
				}
			}
			return n > again
		})
		f.oneAtATime(name)
		runs := f.runs(name)
		wait := first
		for i, after := range runs[1 : again+1] {
			before := runs[i]
			require.Equal(t, i+2, after.attempt)
			require.Equal(t, before.replica, after.replica)
			require.Equal(t, before.token, after.token)
			pause := after.at.Sub(before.last)
			require.GreaterOrEqual(t, pause, wait/2, "%s: before attempt %d", name, after.attempt)
			require.Less(t, pause, wait+2*time.Second, "%s: before attempt %d", name, after.attempt)
			wait = min(2*wait, most)
		}
	}
}

func TestLeaderTaskStaysAfterRedisLosesRecords(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second // in which Redis is back, also on a busy machine
	f := orderlyFleet(t, ttl, leaderTask("led", 100000))
	f.startAll("r1", "r2", "r3")
	f.waitRun("it runs", 20*time.Second, func(r *run) bool { return r.entries >= 2 })
	for range 2 {
		f.redis.Kill()
		f.redis.Restart()
		time.Sleep(ttl + 300*time.Millisecond)
	}
	f.judge()
	require.Len(t, f.runs("led"), 1)
	f.writesOn(f.runs("led")[0])
}
