package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

// lasting makes a snapshot of jobs of one schedule whose newest runs took so long.
func lasting(t testing.TB, n int, schedule string, took time.Duration, options ...jobs.Option) *view.Snapshot {
	s := &view.Snapshot{Given: map[string]*jobs.Job{}}
	s.Status.Namespace, s.Status.Now = "billing", noon
	for i := range n {
		j, status := job(t, fmt.Sprintf("job-%03d", i), schedule, options...)
		last := run(j.Name(), noon.Add(-time.Hour), took, "succeeded")
		status.LastRun = &last
		s.Given[j.Name()] = j
		s.Status.Jobs = append(s.Status.Jobs, status)
	}
	return s
}

func TestLoadCountsRunsThatOverlap(t *testing.T) {
	s := lasting(t, 3, "30 * * * *", 10*time.Minute, jobs.WithWeight(2))
	p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "span=2h&step=10m"), noon)
	runs := map[string]int{}
	for _, x := range p.Points {
		runs[x.At.Format("15:04")] = x.Runs
	}
	require.Equal(t, 0, runs["12:20"])
	require.Equal(t, 3, runs["12:30"])
	require.Equal(t, 0, runs["12:40"], "they have ended")
	require.Equal(t, 3, runs["13:30"])
	require.Equal(t, 6, p.Ticks)
	require.Equal(t, 3, p.Measured)
	require.Equal(t, 6, p.Points[3].Weight)
	require.Equal(t, 6, p.Points[3].HighWeight)
	require.Equal(t, 3, p.Points[3].Starts)
	golden(t, "load.txt", text(t, p))
}

func TestRunsThatBeganBeforeAreCounted(t *testing.T) {
	s := lasting(t, 2, "0 11 * * *", 90*time.Minute)
	p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "span=1h&step=10m"), noon)
	require.Equal(t, 2, p.Points[0].Runs)
	require.Equal(t, 0, p.Points[5].Runs)
}

func TestOverlapBoundsTheRunsOfAJob(t *testing.T) {
	for overlap, want := range map[jobs.Overlap]int{jobs.Forbid: 1, jobs.Queue: 1, jobs.Allow: 5} {
		s := lasting(t, 1, "* * * * *", 5*time.Minute, jobs.WithOverlap(overlap))
		p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "span=1h"), noon)
		require.Equal(t, want, p.Points[3].Runs, overlap)
	}
}

func TestHistoriesTellMoreThanTheNewestRun(t *testing.T) {
	s := lasting(t, 1, "0 * * * *", time.Second, jobs.WithOverlap(jobs.Allow))
	h := fleet.JobHistory{}
	for i := range 10 {
		h.Entries = append(h.Entries, run("job-000", noon.Add(-time.Duration(i)*time.Hour), time.Duration(i+1)*10*time.Minute, "succeeded"))
	}
	h.Entries = append(h.Entries, run("job-000", noon.Add(-99*time.Hour), 99*time.Hour, "cancelled"))
	q := query(t, view.Parse[view.LoadQuery], "span=1h&step=10m")
	require.Equal(t, []string{"job-000"}, view.LoadJobs(s, q))
	p := view.Load(s, map[string]fleet.JobHistory{"job-000": h}, q, noon)
	require.Equal(t, 1, p.Points[4].Runs, "50 minutes in the median")
	require.Equal(t, 0, p.Points[5].Runs)
	require.Equal(t, 1, p.Points[5].High, "90 minutes where nine in ten are no longer")
}

func TestSuggestionsFlattenThePeak(t *testing.T) {
	s := lasting(t, 60, "0 * * * *", time.Minute)
	p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "from=2026-10-30T13:00:00Z&span=1h&top=1"), noon)
	require.Len(t, p.Peaks, 1)
	peak := p.Peaks[0]
	require.Equal(t, 60, peak.Runs)
	require.Equal(t, 60, peak.Starts)
	require.Len(t, peak.Jobs, 20)
	require.Equal(t, 40, peak.More)
	require.Equal(t, `schedule: "H * * * *"`, peak.Jobs[0].Suggestion)

	spread := lasting(t, 60, "H * * * *", time.Minute) // what the suggestion says
	after := view.Load(spread, nil, query(t, view.Parse[view.LoadQuery], "from=2026-10-30T13:00:00Z&span=1h&top=1&step=1h"), noon)
	require.Equal(t, after.Points[0].Runs, peak.Flat)
	require.Less(t, peak.Flat, 10)
}

func TestSuggestionsForEachKindOfSchedule(t *testing.T) {
	for spec, want := range map[string]string{
		"0 * * * *": `schedule: "H * * * *"`, "*/15 * * * *": `schedule: "H/15 * * * *"`, "@daily": `schedule: "H 0 * * *"`, "0 0 2 * * *": `schedule: "0 H 2 * * *"`,
		"0 2 * * THU": `schedule: "H 2 * * THU"`, "0,30 * * * *": "jitter: 3m45s", "@every 1h": "jitter: 5m", "* * * * *": "jitter: 7s", "H * * * *": "", "H/5 * * * *": "",
		"* * * * * *": "",
	} {
		t.Run(spec, func(t *testing.T) {
			p := view.Load(lasting(t, 9, spec, time.Second), nil, query(t, view.Parse[view.LoadQuery], "from=2026-11-05T00:00:00Z&span=1d&step=1h&top=1"), noon)
			if len(p.Peaks) == 0 {
				require.Empty(t, want, "never two at once")
				return
			}
			require.Equal(t, want, p.Peaks[0].Jobs[0].Suggestion)
		})
	}
	jittered := view.Load(lasting(t, 2, "0 * * * *", time.Second, jobs.WithJitter(time.Second)), nil, query(t, view.Parse[view.LoadQuery], "span=2h&top=1"), noon)
	require.Empty(t, jittered.Peaks[0].Jobs[0].Suggestion, "it is spread already")
}

func TestNothingIsSuggestedWhereItDoesNotHelp(t *testing.T) {
	s := lasting(t, 3, "0 13 * * *", 2*time.Hour) // each would overlap the others, wherever in the hour they begin
	p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "span=3h&top=1"), noon)
	require.Equal(t, 3, p.Peaks[0].Flat)
	require.Empty(t, p.Peaks[0].Jobs[0].Suggestion)
}

func TestPausedJobsDoNotLoad(t *testing.T) {
	s := lasting(t, 2, "0 * * * *", time.Second)
	s.Status.Jobs[0].Paused = &fleet.Pause{By: "ann", Since: noon}
	p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "span=1h&q=job"), noon)
	require.Equal(t, 1, p.Jobs)
}

func TestTooManyTicksLeaveJobsOut(t *testing.T) {
	s := lasting(t, 300, "* * * * * *", time.Second)
	p := view.Load(s, nil, query(t, view.Parse[view.LoadQuery], "span=7d&step=1h"), noon)
	require.Equal(t, 299, p.Cut)
	require.Equal(t, 1, p.Points[5].Runs)
}

func BenchmarkLoad10000(b *testing.B) {
	s := many(b, 10_000)
	q := query(b, view.Parse[view.LoadQuery], "")
	for b.Loop() {
		_ = view.Load(s, nil, q, noon)
	}
}
