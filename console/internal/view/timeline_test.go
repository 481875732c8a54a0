package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// one is a snapshot of one job that ticks each minute.
func one(t testing.TB, schedule string, options ...jobs.Option) *view.Snapshot {
	j, status := job(t, "report", schedule, options...)
	s := &view.Snapshot{Given: map[string]*jobs.Job{"report": j}}
	s.Status.Namespace, s.Status.Now, s.Status.Jobs = "billing", noon, []fleet.JobStatus{status}
	return s
}

func items(t testing.TB, s *view.Snapshot, h fleet.JobHistory, of string) view.TimelineRow {
	t.Helper()
	p := view.Timeline(s, map[string]fleet.JobHistory{"report": h}, query(t, view.Parse[view.TimelineQuery], of), noon)
	require.Len(t, p.Rows, 1)
	return p.Rows[0]
}

func kinds(r view.TimelineRow) (list []string) {
	for _, i := range r.Items {
		if i.Kind != view.ItemComing {
			list = append(list, fmt.Sprintf("%s %s %s", i.From.Format("15:04"), i.Kind, i.Outcome))
		}
	}
	return list
}

func ago(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }

func TestTimelineShowsEveryKindOfTick(t *testing.T) {
	s := one(t, "*/10 * * * *")
	skipped := fleet.Entry{Job: "report", Scheduled: ago(40), Count: 1, State: wire.StateSettled, Outcome: "skipped", Reason: "overlap", Ended: ago(40)}
	taken := run("report", ago(30), 5*time.Minute, "succeeded")
	taken.Holders = []fleet.Holder{{Replica: "web-0", Token: 1, Attempt: 1, From: ago(30), To: ago(28), Next: "web-1"}}
	lost := run("report", ago(20), time.Minute, "lost")
	running := fleet.Entry{Job: "report", Scheduled: noon, Count: 1, State: wire.StateRunning, Started: noon, Replica: "web-1", Token: token(noon), Attempts: 1}
	h := fleet.JobHistory{
		Watermark: noon, Since: ago(60),
		Entries: []fleet.Entry{running, lost, taken, skipped, run("report", ago(60), time.Second, "failed")},
	}
	row := items(t, s, h, "span=2h&cells=120")
	require.Equal(t, []string{
		"11:00 run failed", "11:10 gap ", "11:20 none skipped", "11:30 run succeeded", "11:40 run lost", "11:50 gap ", "12:00 run running",
	}, kinds(row))
	require.Equal(t, ago(28), row.Items[3].TakenOver[0])
	require.Equal(t, ago(30), row.Items[3].From, "from the first holder on")
	var coming []string
	for _, i := range row.Items {
		if i.Kind == view.ItemComing {
			coming = append(coming, i.From.Format("15:04"))
		}
	}
	require.Equal(t, []string{"12:10", "12:20"}, coming, "to the end of the page, 24 minutes after now")
	golden(t, "timeline.txt", text(t, view.Timeline(s, map[string]fleet.JobHistory{"report": h}, query(t, view.Parse[view.TimelineQuery], "span=2h"), noon)))
}

func TestTimelineShowsThatARunWaitsForItsNextAttempt(t *testing.T) {
	s := one(t, "40 * * * *")
	running := fleet.Entry{Job: "report", Scheduled: ago(20), Count: 1, State: wire.StateRunning, Started: ago(20), Replica: "web-1", Token: token(ago(20)), Attempts: 1}
	retrying := running
	retrying.State, retrying.Failing = wire.StateRetrying, &fleet.FailingRun{Job: "report", Token: running.Token, Attempt: 1, Next: noon.Add(time.Minute)}
	s.Status.Jobs[0].Open = []fleet.Entry{retrying}
	h := fleet.JobHistory{Watermark: ago(20), Since: ago(25), Entries: []fleet.Entry{running}}
	require.Equal(t, []string{"11:40 run retrying"}, kinds(items(t, s, h, "span=2h&cells=120")))
	require.Regexp(t, `report +w{5,}`, text(t, view.Timeline(s, map[string]fleet.JobHistory{"report": h}, query(t, view.Parse[view.TimelineQuery], "span=2h"), noon)))
}

func TestGapNeedsADueTickWithoutARecord(t *testing.T) {
	gaps := func(s *view.Snapshot, h fleet.JobHistory) (list []string) {
		for _, i := range items(t, s, h, "span=2h&cells=120").Items {
			if i.Kind == view.ItemGap {
				list = append(list, i.From.Format("15:04"))
			}
		}
		return list
	}
	s := one(t, "*/10 * * * *", jobs.WithMisfire(jobs.MisfireLatest, 15*time.Minute))
	h := fleet.JobHistory{Since: ago(45), Watermark: ago(10)}
	require.Equal(t, []string{"11:20", "11:30", "11:40"}, gaps(s, h), "11:50 and 12:00 are within the grace")

	inRange := h
	inRange.Entries = []fleet.Entry{{Job: "report", From: ago(45), Scheduled: ago(25), State: wire.StateSettled, Outcome: "missed", Ended: ago(20)}}
	require.Equal(t, []string{"11:40"}, gaps(s, inRange), "a range decides what is in it")
	revised := h
	revised.Revised = ago(25)
	require.Equal(t, []string{"11:40"}, gaps(s, revised), "another schedule may have been in force before")
	other := h
	other.Schedule = "UTC 35 * * * *"
	require.Equal(t, []string{"11:35"}, gaps(s, other), "the record's schedule decides")
	require.Empty(t, gaps(s, fleet.JobHistory{}), "nothing is known")
	require.Empty(t, gaps(one(t, "", jobs.WithLeader()), h), "a leader task has no ticks")
}

func TestRangesShowTheirTicks(t *testing.T) {
	s := one(t, "*/10 * * * *")
	h := fleet.JobHistory{Since: ago(120), Watermark: noon, Entries: []fleet.Entry{
		run("report", ago(30), time.Second, "succeeded"),
		{Job: "report", From: ago(65), Scheduled: ago(30), Count: 4, State: wire.StateSettled, Outcome: "missed", Reason: "too_old", Ended: ago(29)},
		{Job: "report", From: ago(120), Scheduled: ago(65), State: wire.StateSettled, Outcome: "skipped", Reason: "paused", Ended: ago(65)},
	}}
	row := items(t, s, h, "from=2026-10-30T10:30:00Z&span=61m&cells=61")
	require.Equal(t, []string{
		"10:30 none skipped", "10:40 none skipped", "10:50 none skipped", "11:00 none missed", "11:10 none missed", "11:20 none missed", "11:30 run succeeded",
	}, kinds(row))
}

func TestPausesAreShownFromBeginToEnd(t *testing.T) {
	s := one(t, "@hourly")
	s.Status.Jobs[0].Paused = &fleet.Pause{By: "bob", Since: ago(10)}
	row := items(t, s, fleet.JobHistory{Facts: []fleet.Fact{
		{Kind: wire.FactResumed, By: "ann", Pauser: "eve", Why: "books", From: ago(60), To: ago(30)},
		{Kind: wire.FactPaused, By: "eve", From: ago(60)},
	}}, "span=2h")
	require.Equal(t, []view.Span{
		{From: ago(60), To: ago(30), By: "eve", Why: "books"}, {From: ago(10), By: "bob"},
	}, row.Pauses)
}

func TestClockChangesOfTheRowsAreShown(t *testing.T) {
	s := one(t, "@hourly", jobs.WithTimezone("Europe/Berlin"))
	p := view.Timeline(s, nil, query(t, view.Parse[view.TimelineQuery], "span=31d&from=2026-10-01T00:00:00Z"), noon)
	require.Len(t, p.ClockChanges, 1)
	require.Equal(t, "2026-10-25T01:00:00Z", p.ClockChanges[0].At.Format(time.RFC3339))
	require.Equal(t, -time.Hour, p.ClockChanges[0].Shift)
	require.Equal(t, "its history was not read", p.Rows[0].Unread)
}

// However dense a schedule is and however long its history, a row has few items for each cell, and
// no tick is shown twice.
func TestRowsAreBoundedAndComplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		schedule := rapid.SampledFrom([]string{"* * * * * *", "@every 7s", "*/2 * * * *", "@hourly", "H 2 * * *"}).Draw(rt, "schedule")
		s := one(t, schedule, jobs.WithOverlap(jobs.Allow))
		n := rapid.IntRange(0, 1000).Draw(rt, "entries")
		h := fleet.JobHistory{Since: ago(60 * 24), Watermark: noon}
		for i := range n {
			took := time.Duration(rapid.IntRange(0, 4000).Draw(rt, "took")) * time.Second
			h.Entries = append(h.Entries, run("report", ago(i), took, rapid.SampledFrom([]protocol.Outcome{"succeeded", "failed", "lost"}).Draw(rt, "outcome")))
		}
		span := rapid.SampledFrom([]string{"1h", "6h", "7d", "31d"}).Draw(rt, "span")
		q := query(t, view.Parse[view.TimelineQuery], "cells=60&span="+span)
		p := view.Timeline(s, map[string]fleet.JobHistory{"report": h}, q, noon)
		row := p.Rows[0]
		if len(row.Items) > 60*5 {
			rt.Fatalf("%d items in 60 cells", len(row.Items))
		}
		for i := 1; i < len(row.Items); i++ {
			if row.Items[i].From.Sub(row.Items[i-1].From) < -p.Cell {
				rt.Fatalf("item %d begins before the cell of the one before", i)
			}
		}
		want := 0
		for _, e := range h.Entries {
			if !e.Ended.Before(p.From) && e.Started.Before(p.To) {
				want++
			}
		}
		got := 0
		for _, i := range row.Items {
			switch i.Kind {
			case view.ItemRun:
				got += i.Count
			case view.ItemDense:
				got += i.Counts["succeeded"] + i.Counts["failed"] + i.Counts["lost"]
			}
		}
		if got != want {
			rt.Fatalf("%d of %d runs are shown", got, want)
		}
	})
}

func TestTimelineReadsTheHistoriesOfItsPage(t *testing.T) {
	s := many(t, 130)
	q := query(t, view.Parse[view.TimelineQuery], "limit=50&q=team")
	names := view.TimelineJobs(s, q)
	p := view.Timeline(s, nil, q, noon)
	require.Len(t, names, 50)
	for i, r := range p.Rows {
		require.Equal(t, names[i], r.Job)
	}
	q.After = p.Next
	require.Greater(t, view.TimelineJobs(s, q)[0], names[49])
}

func BenchmarkTimeline50Rows(b *testing.B) {
	s := many(b, 10_000)
	for _, span := range []string{"6h", "31d"} {
		q := query(b, view.Parse[view.TimelineQuery], "span="+span)
		h := map[string]fleet.JobHistory{}
		for _, name := range view.TimelineJobs(s, q) {
			history := fleet.JobHistory{Since: ago(60 * 24), Watermark: noon}
			for i := range 128 {
				history.Entries = append(history.Entries, run(name, ago(i), time.Second, "succeeded"))
			}
			h[name] = history
		}
		b.Run(span, func(b *testing.B) {
			for b.Loop() {
				_ = view.Timeline(s, h, q, noon)
			}
		})
	}
}
