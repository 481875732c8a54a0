package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestADescriptionIsShownWithinTheWidth(t *testing.T) {
	now := time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC)
	spec := jobs.Defaults()
	spec.Name, spec.Schedule, spec.Groups = "nightly-report", "0 2 * * *", []string{"eu"}
	run := &fleet.Entry{
		State: wire.StateSettled, Scheduled: now.Add(-30 * time.Minute), Started: now.Add(-30 * time.Minute), Ended: now.Add(-29 * time.Minute),
		Outcome: "failed", Replica: "web-1", Token: 1, Attempts: 2, Count: 1, Error: "exit status 1: " + strings.Repeat("no such file ", 15),
	}
	d := fleet.Description{
		Namespace: "billing", Now: now,
		JobStatus: fleet.JobStatus{
			Name: "nightly-report", Given: true, Spec: spec, Schedule: "0 2 * * *", Timezone: "Europe/Berlin", Known: true,
			Open: []fleet.Entry{
				{State: wire.StateRunning, Scheduled: now.Add(-time.Minute), Started: now.Add(-time.Minute), Replica: "web-2", Token: 1795137600004000, Attempts: 1, CancelledBy: "ops1"},
				{State: wire.StateWaiting, Scheduled: now.Add(-time.Second + time.Millisecond), Replica: "ops2", Triggered: true},
				{State: wire.StateFree, Scheduled: now.Add(-time.Hour), Replica: "web-3"},
				{
					State: wire.StateRetrying, Scheduled: now.Add(-2 * time.Minute), Replica: "web-1", Token: 1795137600004000, Attempts: 1,
					Failing: &fleet.FailingRun{Attempt: 1, Failures: 1, Since: now.Add(-time.Minute), Error: "exit code 1", Next: now.Add(time.Minute)},
				},
			},
			Paused: &fleet.Pause{By: "ops1", Reason: "the database moves", Since: now.Add(-2 * time.Hour)}, LastRun: run,
			Replicas: []string{"web-1", "web-2", "web-3", "web-4", "batch-worker-7f9c6d5b4-x2k8q", "batch-worker-7f9c6d5b4-x2k8r", "batch-worker-7f9c6d5b4-x2k8s"},
		},
		Definitions: []fleet.Definition{{Revision: "8c52154a190a", Replicas: []string{"web-1", "web-2"}, Given: true}},
		Coming:      []time.Time{now.Add(time.Hour), now.Add(49 * time.Hour)},
		Outcomes:    []fleet.Entry{*run}, Counts: map[protocol.Outcome]int{"failed": 1, "skipped": 12}, Since: now.Add(-48 * time.Hour),
		Runs: 1, Median: time.Minute, Longest: time.Minute,
	}
	text := descriptionText(render.View{Human: true, Width: 120, Now: now}, d)
	filetest.Golden(t, "describe-people.txt", text)
	requireWidth(t, 120, text)
}

// entriesToPrint are of each kind.
func entriesToPrint() []fleet.Entry {
	at := func(minute, second, ms int) time.Time {
		return time.Date(2026, 11, 20, 1, minute, second, ms*int(time.Millisecond), time.UTC)
	}
	return []fleet.Entry{
		{Scheduled: at(30, 0, 0), State: wire.StateRunning, Started: at(30, 1, 0), Replica: "web-1", Token: 1795138201000000, Attempts: 2, Count: 1},
		{Scheduled: at(25, 0, 123), State: wire.StateWaiting, Replica: "ops1", Triggered: true, Count: 1},
		{
			Scheduled: at(20, 0, 0), State: wire.StateSettled, Outcome: "succeeded", Started: at(20, 0, 4), Ended: at(21, 3, 120), Replica: "web-2",
			Token: 1795137600004000, Attempts: 1, Count: 1,
		}, {
			Scheduled: at(10, 0, 0), State: wire.StateSettled, Outcome: "failed", Started: at(10, 0, 4), Ended: at(10, 0, 9), Replica: "web-2",
			Token: 1795137000004000, Attempts: 3, Count: 1, Error: "exit status 1: no such file\n",
		}, {
			Scheduled: at(9, 0, 0), From: at(0, 0, 0).AddDate(0, 0, -1), State: wire.StateSettled, Outcome: "missed", Ended: at(9, 30, 0), Replica: "web-1",
			Count: 500, Reason: "too_old",
		},
	}
}

func TestTablesUseTheJobsZone(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	v := render.View{Now: time.Date(2026, 11, 20, 1, 31, 0, 0, time.UTC), Zone: tokyo}
	filetest.Golden(t, "history.txt", render.History(v, entriesToPrint()).Text(v))
	coloured := v
	coloured.Colours = true
	filetest.Golden(t, "history-colours.txt", render.History(v, entriesToPrint()).Text(coloured))
	v.Human, v.Width = true, 120
	people := render.History(v, entriesToPrint()).Text(v)
	filetest.Golden(t, "history-people.txt", people)
	requireWidth(t, 120, people)
}

func TestLinesOfAnErrorAreShownAsLines(t *testing.T) {
	entries := entriesToPrint()[3:4]
	entries[0].Error = "command failed: exit code 1; last output:\n[...]\n\tone\x1b[31m\nFATAL: the reason\n"
	v := render.View{Now: time.Date(2026, 11, 20, 1, 31, 0, 0, time.UTC), Zone: time.UTC}
	require.True(t, strings.HasSuffix(render.History(v, entries).Text(v),
		"failed   command failed: exit code 1; last output:\n    [...]\n     one?[31m\n    FATAL: the reason\n"))
	v.Human, v.Width = true, 120
	people := render.History(v, entries).Text(v)
	require.True(t, strings.HasSuffix(people,
		"    command failed: exit code 1; last output:\n    [...]\n     one?[31m\n    FATAL: the reason\n"), people)
}

func TestStatusShowsProblems(t *testing.T) {
	at := time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC)
	entry := func(state string, minutes int) fleet.Entry {
		return fleet.Entry{State: state, Scheduled: at.Add(time.Duration(minutes) * time.Minute), Replica: "r1"}
	}
	done := &fleet.Entry{State: wire.StateSettled, Scheduled: at.Add(-5 * time.Second), Outcome: "succeeded", Replica: "r1", Token: 1}
	failed := &fleet.Entry{State: wire.StateSettled, Scheduled: at.Add(-72 * time.Minute), Outcome: "failed", Replica: "batch-worker-7f9c6d5b4-x2k8q", Token: 1}
	s := fleet.Status{
		Namespace: "billing", Now: at,
		Replicas: []fleet.Replica{
			{ID: "r1", Groups: []string{"eu", "us"}, Started: at.Add(123 * time.Millisecond), TTL: 15 * time.Second, Running: 2, Stopping: true,
				JobCount: 6, Version: "v1.2.3", ClockOffset: 1500 * time.Millisecond, LastHeartbeat: at.Add(-2 * time.Second)},
			{ID: "r2", JobCount: -1, LastHeartbeat: at.Add(-3 * time.Second)},
			{ID: "r3", Started: at, TTL: 15 * time.Second, LastHeartbeat: at.Add(-12 * time.Second)},
			{ID: "web", Started: at, TTL: 15 * time.Second, LastHeartbeat: at, Others: map[string]int64{"x": 0, "y": 0}},
		},
		Silent: []fleet.Replica{{ID: "r0", Started: at.Add(-time.Hour), TTL: 15 * time.Second, Running: 2, JobCount: 6, LastHeartbeat: at.Add(-9 * time.Minute), Gone: true}},
		Jobs: []fleet.JobStatus{
			{Name: "fine", Given: true, Schedule: "*/1 * * * *", Timezone: "UTC", Next: at.Add(time.Minute), Last: done, LastRun: done, LastSuccess: done},
			{Name: "skipping-since-then", Given: true, Schedule: "0 0-6,8-23 1,8,15,22 * mon-fri", Timezone: "Europe/Berlin", Next: at.Add(26 * time.Hour),
				Last: &fleet.Entry{State: wire.StateSettled, Scheduled: at, Outcome: "skipped", Reason: "overlap"}, LastRun: failed, LastSuccess: done},
			{Name: "never", Given: true, Unserved: true},
			{Name: "late", Given: true, Overdue: at.Add(-time.Hour), Next: at},
			{Name: "busy", Given: true, Open: []fleet.Entry{entry(wire.StateRunning, 4), entry(wire.StateRunning, 3), entry(wire.StateWaiting, 2), entry(wire.StateFree, 1), entry(wire.StateFree, 0)}},
			{Name: "leader", Given: true, Spec: jobs.Spec{Leader: true, Paused: true}, Open: []fleet.Entry{{State: wire.StateRunning, Replica: "r1"}}},
			{Name: "retried", Given: true, Open: []fleet.Entry{{
				State: wire.StateRetrying, Scheduled: at.Add(-time.Minute), Replica: "r1", Attempts: 1,
				Failing: &fleet.FailingRun{Attempt: 1, Failures: 1, Since: at.Add(-10 * time.Second), Error: "exit code 1", Next: at.Add(30 * time.Second)},
			}}},
			{Name: "crashes", Given: true, Spec: jobs.Spec{Leader: true}, Open: []fleet.Entry{{
				State: wire.StateRetrying, Replica: "r1", Attempts: 53,
				Failing: &fleet.FailingRun{Attempt: 53, Failures: 53, Since: at.Add(-8 * time.Minute), Error: "exit code 1", Next: at.Add(3 * time.Second)},
			}}},
			{Name: "foreign", Paused: &fleet.Pause{By: "ops1", Since: at}},
		},
	}
	tables := func(v render.View) string {
		return render.Jobs(v, s.Jobs).Text(v) + "\n" + render.Replicas(v, slices.Concat(s.Replicas, s.Silent)).Text(v)
	}
	v := render.View{Now: at}
	filetest.Golden(t, "status.txt", tables(v))
	coloured := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(tables(render.View{Now: at, Colours: true}), "")
	require.Equal(t, tables(v), coloured, "colours do not move columns")

	text := tables(render.View{Human: true, Width: 120, Now: at})
	filetest.Golden(t, "status-people.txt", text)
	requireWidth(t, 120, text)
}

func requireWidth(t *testing.T, width int, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
	}
}
