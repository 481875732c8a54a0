package view_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func values(t testing.TB, query string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(query)
	require.NoError(t, err)
	return v
}

func indented(t *testing.T, page any) string {
	t.Helper()
	text, err := fleet.Marshal(page)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, append(text, '\n'), "", "  "))
	return out.String()
}

func TestJobsPageAsTextAndJSON(t *testing.T) {
	p := view.Jobs(small(t), query(t, view.Parse[view.JobsQuery], ""), noon.Add(2*time.Second))
	golden(t, "jobs.txt", text(t, p))
	golden(t, "jobs.json", indented(t, p))
}

func TestJobsInAnotherZone(t *testing.T) {
	p := view.Jobs(small(t), query(t, view.Parse[view.JobsQuery], "zone=America/New_York&q=nightly"), noon)
	require.Contains(t, text(t, p), "2026-10-30 21:00:00 -0400", "02:00 in Berlin")
}

func names(p view.JobsPage) (list []string) {
	for _, j := range p.Jobs {
		list = append(list, j.Job)
	}
	return list
}

func TestEachFilterChoosesItsJobs(t *testing.T) {
	s := small(t)
	for of, want := range map[string][]string{
		"q=REPORT":                        {"nightly-report"},
		"q=berlin+02":                     nil,
		"q=tokyo+invoice":                 {"weekly-invoice"},
		"state=failing":                   {"nightly-report"},
		"state=paused,running":            {"indexer", "sync-orders", "weekly-invoice"},
		"state=paused&state=running":      {"indexer", "sync-orders", "weekly-invoice"},
		"state=overdue":                   {"import"},
		"state=unserved":                  {"import"},
		"state=left_over":                 {"old-job"},
		"state=differs":                   {"cleanup"},
		"group=eu":                        {"nightly-report"},
		"group=us":                        nil,
		"replica=web-2&state=failing":     {"nightly-report"},
		"replica=web-9":                   nil,
		"sort=name&limit=2":               {"cleanup", "import"},
		"sort=-name&limit=2":              {"weekly-invoice", "sync-orders"},
		"sort=state&limit=3":              {"import", "old-job", "nightly-report"},
		"sort=next&limit=2":               {"cleanup", "import"},
		"sort=-took&limit=2":              {"nightly-report", "sync-orders"},
		"sort=-last&limit=2":              {"sync-orders", "nightly-report"},
		"state=overdue&group=eu&limit=10": nil,
	} {
		t.Run(of, func(t *testing.T) {
			require.Equal(t, want, names(view.Jobs(s, query(t, view.Parse[view.JobsQuery], of), noon)))
		})
	}
}

func TestFailingJobsHaveFailed(t *testing.T) {
	for outcome, want := range map[protocol.Outcome]bool{"failed": true, "lost": true, "succeeded": false, "replaced": false, "cancelled": false} {
		s := small(t)
		last := run("sync-orders", noon.Add(-time.Minute), time.Second, outcome)
		for i := range s.Status.Jobs {
			if s.Status.Jobs[i].Name == "sync-orders" {
				s.Status.Jobs[i].LastRun = &last
			}
		}
		require.Equal(t, want, slices.Contains(names(view.Jobs(s, query(t, view.Parse[view.JobsQuery], "state=failing"), noon)), "sync-orders"), outcome)
	}
}

func TestMenusCountWhatEachChoiceLeaves(t *testing.T) {
	p := view.Jobs(small(t), query(t, view.Parse[view.JobsQuery], "state=paused"), noon)
	count := func(list []view.Choice, value string) int {
		for _, c := range list {
			if c.Value == value {
				return c.Jobs
			}
		}
		return -1
	}
	require.Equal(t, 1, p.Matching)
	require.Equal(t, 7, p.Total)
	require.Equal(t, 2, count(p.States, "running"), "the state is not counted against itself")
	require.Equal(t, 1, count(p.Replicas, "web-1"), "of the paused ones")
	require.Equal(t, -1, count(p.Groups, "eu"), "no paused job has a group")
}

func TestMatchingIsWhatTheFilterChooses(t *testing.T) {
	require.Equal(t, []string{"indexer", "sync-orders", "weekly-invoice"},
		view.Matching(small(t), query(t, view.Parse[view.JobFilter], "state=paused,running")))
}

// description describes the failing job, as fleet.Describe does.
func description(t *testing.T, s *view.Snapshot) fleet.Description {
	d := fleet.Description{Namespace: "billing", Now: noon, JobStatus: s.Status.Jobs[0], Counts: map[protocol.Outcome]int{"failed": 1, "succeeded": 39}}
	for i := range 40 {
		e := run("nightly-report", time.Date(2026, 10, 30, 1, 0, 0, 0, time.UTC).Add(-time.Duration(i)*24*time.Hour), time.Duration(i+1)*time.Second, "succeeded")
		if i == 0 {
			e = *s.Status.Jobs[0].LastRun
		}
		d.Outcomes = append(d.Outcomes, e)
	}
	d.Outcomes[1].Attempts, d.Outcomes[1].Holders = 3, []fleet.Holder{{Replica: "web-0", Token: 7, Attempt: 1, From: d.Outcomes[1].Scheduled.Add(30 * time.Second), To: d.Outcomes[1].Scheduled.Add(45 * time.Second), Next: "web-1"}}
	d.Runs, d.Median, d.Longest, d.Since = 40, 20*time.Second, 4*time.Minute, noon.Add(-40*24*time.Hour)
	d.Definitions = []fleet.Definition{
		{Revision: "aaaaaaaaaaaa", Replicas: []string{"web-1"}, Given: true, Fields: map[string]string{"schedule": "0 2 * * *", "overlap": "forbid"}},
		{Revision: "bbbbbbbbbbbb", Replicas: []string{"web-2"}, Fields: map[string]string{"schedule": "0 3 * * *", "overlap": "forbid"}},
	}
	d.Differences = []string{"schedule"}
	d.Facts = []fleet.Fact{
		{At: noon.Add(-time.Hour), Kind: wire.FactTriggered, By: "ann", Tick: noon.Add(-time.Hour + 7*time.Millisecond), Key: "k1"},
		{At: noon.Add(-24 * time.Hour), Kind: wire.FactResumed, By: "bob", Pauser: "ann", Why: "the books", From: noon.Add(-26 * time.Hour), To: noon.Add(-24 * time.Hour)},
	}
	return d
}

func TestJobPageAsTextAndJSON(t *testing.T) {
	s := small(t)
	p := view.Job(s, description(t, s), query(t, view.Parse[view.JobQuery], "limit=3&ticks=2"), noon)
	golden(t, "job.txt", text(t, p))
	require.Len(t, p.History, 3)
	require.Len(t, p.Samples, 40)
	require.Equal(t, 30*time.Second, p.Samples[38].Lateness, "of the first run, before the takeover")
	require.Equal(t, 37*time.Second, p.P90)
	require.Equal(t, []string{"schedule"}, p.Differences)
	require.Equal(t, "2027-03-28T01:00:00Z", p.ClockChanges[0].At.Format(time.RFC3339))

	second := view.Job(s, description(t, s), query(t, view.Parse[view.JobQuery], "limit=3&after="+p.NextPage), noon)
	require.Equal(t, p.History[2].Scheduled.Add(-24*time.Hour), second.History[0].Scheduled)
	first := view.Job(s, description(t, s), query(t, view.Parse[view.JobQuery], "limit=3&before="+second.PreviousPage), noon)
	require.Equal(t, p.History, first.History)
	failed := view.Job(s, description(t, s), query(t, view.Parse[view.JobQuery], "outcome=failed"), noon)
	require.Equal(t, 1, failed.Kept)
	require.True(t, json.Valid([]byte(indented(t, p))))
}

func TestTickShowsEachAttempt(t *testing.T) {
	s := small(t)
	e := description(t, s).Outcomes[1]
	e.Error = "exit code 1\nfirst\nsecond"
	at := func(seconds int) time.Time { return e.Scheduled.Add(time.Duration(seconds) * time.Second) }
	e.Runs = []fleet.Run{
		{Attempt: 1, Replica: "web-0", Token: token(at(30)), Started: at(30), Ended: at(45), End: wire.RunExpired},
		{Attempt: 2, Replica: "web-1", Token: token(at(46)), Started: at(46), Ended: at(50), End: wire.RunRetried, Error: "exit code 7"},
		{Attempt: 3, Replica: "web-1", Token: token(at(46)), Started: at(51), Ended: at(90), End: "failed", Error: "exit code 1", Renewals: 8, Margin: 9 * time.Second},
	}
	x := fleet.Explanation{Job: "nightly-report", Tick: e.Scheduled, ID: e.ID, Verdict: "failed", Text: "It failed.", Entry: &e}
	q := query(t, view.Parse[view.TickQuery], "")
	q.Job = "nightly-report"
	p := view.Tick(s, x, q, noon)
	golden(t, "tick.txt", text(t, p))
	require.Len(t, p.Attempts, 3)
	require.Equal(t, "web-1", p.Attempts[0].NextBy)
	require.Empty(t, p.Attempts[1].NextBy, "it was retried by the same holder")
	require.Equal(t, 9*time.Second, p.Attempts[2].Margin)

	e.Runs = e.Runs[2:]
	require.Equal(t, 2, view.Tick(s, x, view.TickQuery{}, noon).Attempts[0].Retries, "of which nothing is kept")
	e.Runs = nil
	require.Equal(t, "exit code 1", view.Tick(s, x, view.TickQuery{}, noon).Attempts[0].Error)
	require.Equal(t, []string{"first", "second"}, p.Output)
	require.Equal(t, e.Scheduled.Add(-24*time.Hour), p.Earlier)
	require.Equal(t, e.Scheduled.Add(24*time.Hour), p.Later)
}

func TestWhyShowsWhoMayStillRunIt(t *testing.T) {
	s := small(t)
	s.Status.Replicas = append(s.Status.Replicas,
		fleet.Replica{ID: "web-3", Stopping: true, Jobs: map[string]string{"nightly-report": "r"}, JobCount: 1},
		fleet.Replica{ID: "web-4", Jobs: map[string]string{"other": "r"}, JobCount: 1},
		fleet.Replica{ID: "web-5", JobCount: 9},
		fleet.Replica{ID: "web-6", Clock: "stepped", Jobs: map[string]string{"nightly-report": "r"}, JobCount: 1},
	)
	tick := time.Date(2026, 10, 31, 1, 0, 0, 0, time.UTC)
	p := view.Why(s, fleet.Explanation{Job: "nightly-report", Tick: tick, Verdict: wire.Future, Text: "Its time has not come."}, view.TickQuery{Job: "nightly-report"}, noon)
	var got []view.Answer
	for _, a := range p.Asked {
		got = append(got, a.Answer)
	}
	require.Equal(t, []view.Answer{
		view.AnswerMayClaim, view.AnswerSilent, view.AnswerStopping, view.AnswerNotHere, view.AnswerUnknown, view.AnswerClock,
	}, got)
}

func TestWhySaysWhoAskedForATriggeredTick(t *testing.T) {
	tick := noon.Add(7 * time.Millisecond)
	e := run("sync-orders", tick, time.Second, "succeeded")
	x := fleet.Explanation{Job: "sync-orders", Tick: tick, Verdict: "succeeded", Entry: &e, Policy: "", Facts: []fleet.Fact{
		{At: tick.Add(time.Second), Kind: wire.FactTriggered, By: "bob", Tick: tick},
		{At: tick, Kind: wire.FactTriggered, By: "ann", Tick: tick},
	}}
	p := view.Why(small(t), x, view.TickQuery{Job: "sync-orders"}, noon)
	golden(t, "why.txt", text(t, p))
	require.Equal(t, view.AnswerOpened, p.Asked[0].Answer)
	require.Equal(t, "ann", p.Asked[0].By)
	require.Equal(t, view.AnswerServed, p.Asked[1].Answer)
	require.Equal(t, view.AnswerGranted, p.Asked[2].Answer)
}

func TestFleetLocksAndAuditAsText(t *testing.T) {
	s := small(t)
	p := view.Fleet(s, query(t, view.Parse[view.FleetQuery], ""), noon)
	golden(t, "fleet.txt", text(t, p))
	require.Equal(t, []string{"indexer"}, p.Replicas[0].Leads)
	require.Equal(t, []string{"sync-orders"}, p.Replicas[1].Runs)
	require.True(t, p.Replicas[1].Silent)
	require.Equal(t, 5, p.MaxRuns)

	locks := view.Locks(s, query(t, view.Parse[view.LocksQuery], "limit=1"), noon)
	golden(t, "locks.txt", text(t, locks))
	require.Equal(t, "door", locks.Next)
	require.True(t, locks.Locks[0].Holds[0].Expired)
	next := view.Locks(s, query(t, view.Parse[view.LocksQuery], "limit=1&after=door"), noon)
	require.Equal(t, "stock", next.Locks[0].Name)
	require.Equal(t, 30*time.Second, next.Locks[0].Longest)
	require.Equal(t, 1, view.Locks(s, query(t, view.Parse[view.LocksQuery], "q=WEB-2"), noon).Matching, "by a waiter")

	audit := view.Audit(s, []fleet.Fact{{At: noon, By: "ann", Kind: wire.FactPaused, Job: "report", Reason: "why\nnot", Via: "cli"}, {At: noon, By: "ann", Kind: wire.FactReleased, Lock: "shop", Replica: "web-1", Token: 7, Via: "console"}}, view.AuditQuery{}, noon)
	golden(t, "audit.txt", text(t, audit))
}
