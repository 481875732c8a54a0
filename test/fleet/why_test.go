package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhyExplainsATick(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 2*time.Second,
		job("prompt", "@every 1s", 0, "misfire: skip", "misfire_grace: 1s"),
		job("slow", "@every 1s", 25),
		job("hasty", "@every 2s", 200, "overlap: replace"),
		job("paused", "@every 1s", 0))
	f.writeConfig(strings.Replace(f.configText(), "jobs:", "shutdown_grace: 0s\njobs:", 1))
	ws := byName(f.startAll("r1", "r2", "r3"))
	newest := func(job, outcome string) past {
		t.Helper()
		var found past
		require.Eventually(t, func() bool {
			for _, p := range f.history(job) {
				if p.Outcome == outcome && p.Scheduled.After(found.Scheduled) {
					found = p
				}
			}
			return found.Outcome != ""
		}, patience, 100*time.Millisecond, "no tick of %s is %s", job, outcome)
		return found
	}
	said := func(job string, p past, words ...string) {
		t.Helper()
		text := f.why(job, p.Scheduled)
		for _, word := range append(words, job+", tick of "+p.Scheduled.UTC().Format(time.DateTime)+" +0000, "+p.Outcome+": ") {
			require.Contains(t, text, word)
		}
	}

	said("prompt", newest("prompt", "succeeded"), " started it at ", ", and it succeeded after ", ": attempt 1, token ")
	said("slow", newest("slow", "skipped"), "It was skipped because r", " still ran ", "the job's overlap policy is forbid")
	said("hasty", newest("hasty", "replaced"), " ran it from ", "it was stopped at ", "to make room for the newer one of ")
	f.do("pause", "paused", "--by", "anna", "--reason", "the database moves")
	said("paused", newest("paused", "skipped"), "It was skipped because the job is paused: by anna since ", `"the database moves"`)

	stopAll(ws)
	down := time.Now()
	time.Sleep(4 * time.Second)
	for _, w := range ws {
		restart(ws, w)
	}
	missed := newest("prompt", "missed")
	require.True(t, missed.Scheduled.After(down))
	tick := missed.Scheduled.Add(-time.Second)
	require.True(t, missed.has(tick), "they were settled together: %+v", missed)
	require.Eventually(t, func() bool {
		return strings.Contains(f.why("prompt", tick), "It was missed because no replica lived: ")
	}, patience, 100*time.Millisecond,
		"what was noticed is noted in the background: %s", f.why("prompt", tick))
	said("prompt", missed, "It was missed because no replica lived: the fleet's last heartbeat came at ", ", and the next replica at ", "after its time", "the job's misfire policy is skip")

	future := f.why("prompt", time.Now().Truncate(time.Second).Add(time.Hour))
	require.Contains(t, future, "Its time has not come")
	require.True(t, strings.HasPrefix(f.do("why", "paused"), "paused, tick of "))
}
