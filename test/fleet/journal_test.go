package fleet

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// entry is a line that a run wrote.
type entry struct {
	what    string // start, beat, fail or end
	job     string
	tick    int64 // Unix ms
	token   int64
	attempt int
	replica string
	at      time.Time
}

// run has the lines that one run wrote.
type run struct {
	entry             // of its start
	last    time.Time // of its last line
	ended   bool
	failed  bool
	entries int
}

func (f *fleet) entries() []entry {
	text, err := os.ReadFile(f.journal)
	require.NoError(f.t, err)
	var list []entry
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break // being written
		}
		var e entry
		var at int64
		_, err := fmt.Sscan(line, &e.what, &e.job, &e.tick, &e.token, &e.attempt, &e.replica, &at)
		require.NoError(f.t, err, "journal: %q", line)
		e.at = time.Unix(0, at)
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b entry) int { return a.at.Compare(b.at) })
	return list
}

// runs returns the runs of a job, or of all jobs, in the order of their starts.
func (f *fleet) runs(job string) []*run {
	type key struct {
		job         string
		tick, token int64
		attempt     int
	}
	byKey := map[key]*run{}
	var list []*run
	for _, e := range f.entries() {
		if job != "" && e.job != job {
			continue
		}
		k := key{e.job, e.tick, e.token, e.attempt}
		r := byKey[k]
		if e.what == "start" {
			require.Nil(f.t, r, "the same attempt of %s at %d started twice", e.job, e.tick)
			r = &run{entry: e}
			byKey[k] = r
			list = append(list, r)
		}
		require.NotNil(f.t, r, "a line of a run that did not start: %+v", e)
		r.last = e.at
		r.entries++
		r.ended = r.ended || e.what == "end"
		r.failed = r.failed || e.what == "fail"
	}
	return list
}

// waitFor waits until a condition of the written lines holds, for the limit and, on a busy machine,
// a minute more.
func (f *fleet) waitFor(what string, limit time.Duration, holds func([]*run) bool) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return holds(f.runs("")) }, limit+patience, 20*time.Millisecond, what)
}

// waitRun waits for a run that satisfies is, and returns it.
func (f *fleet) waitRun(what string, limit time.Duration, is func(*run) bool) (found *run) {
	f.t.Helper()
	f.waitFor(what, limit, func(runs []*run) bool {
		for _, r := range runs {
			if is(r) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

// judge requires what always holds: no tick completes twice, no two runs of a tick at once, none
// early, and tokens of a job rise with its grants.
func (f *fleet) judge() {
	f.t.Helper()
	type tick struct {
		job string
		at  int64
	}
	completed := map[tick]int{}
	byTick := map[tick][]*run{}
	byJob := map[string][]*run{}
	for _, r := range f.runs("") {
		k := tick{r.job, r.tick}
		if r.ended {
			completed[k]++
			require.Equal(f.t, 1, completed[k], "%s at %d completed twice", r.job, r.tick)
		}
		require.GreaterOrEqual(f.t, r.at.UnixMilli(), r.tick, "%s at %d started early", r.job, r.tick)
		byTick[k] = append(byTick[k], r)
		byJob[r.job] = append(byJob[r.job], r)
	}
	for k, runs := range byTick {
		slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.attempt, b.attempt) })
		for i := 1; i < len(runs); i++ {
			before, after := runs[i-1], runs[i]
			require.Less(f.t, before.attempt, after.attempt, "%s at %d", k.job, k.at)
			require.LessOrEqual(f.t, before.token, after.token, "%s at %d: tokens", k.job, k.at)
			require.False(f.t, before.last.After(after.at), "%s at %d: attempt %d wrote after attempt %d had started", k.job, k.at, before.attempt, after.attempt)
		}
	}
	for job, runs := range byJob {
		// A tick that is granted later has a higher token; those that start within one moment may be
		// written either way.
		slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.token, b.token) })
		for i := 1; i < len(runs); i++ {
			before, after := runs[i-1], runs[i]
			require.Less(f.t, before.at.Add(-busy), after.at, "%s: token %d started long after token %d", job, before.token, after.token)
		}
	}
}

// everyTick requires one completed run of each tick of a job that is due every so often, from one
// instant to another. It waits for those that a busy machine has not completed yet.
func (f *fleet) everyTick(job string, every time.Duration, from, to time.Time) {
	f.t.Helper()
	var due []time.Time
	for at := from.Truncate(every).Add(every); at.Before(to); at = at.Add(every) {
		due = append(due, at)
	}
	require.NotEmpty(f.t, due, "ticks between %s and %s", from, to)
	var completed map[int64]int
	for end := time.Now().Add(patience / 2); ; time.Sleep(50 * time.Millisecond) {
		completed = map[int64]int{}
		for _, r := range f.runs(job) {
			if r.ended {
				completed[r.tick]++
			}
		}
		missing := slices.ContainsFunc(due, func(at time.Time) bool { return completed[at.UnixMilli()] == 0 })
		if !missing || time.Now().After(end) {
			break
		}
	}
	for _, at := range due {
		require.Equal(f.t, 1, completed[at.UnixMilli()], "completions of %s at %s", job, at.Format(time.RFC3339Nano))
	}
}

// median returns the one in the middle, which a busy machine moves less than the greatest.
func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}
