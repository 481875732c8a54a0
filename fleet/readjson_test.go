package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestJSONReadsBackAsItWasWritten(t *testing.T) {
	at := time.Date(2026, 11, 22, 11, 0, 0, 123e6, time.UTC)
	entry := fleet.Entry{
		Job: "report", ID: "billing/report/1", Scheduled: at, From: at.Add(-time.Hour), Count: 3, State: wire.StateSettled, Outcome: "failed", Started: at, Ended: at.Add(time.Second),
		Replica: "a", Remaining: 3 * time.Second, Token: 7, Attempts: 2, CancelledBy: "ops", Reason: "timeout", Error: "two\nlines", TriggeredBy: "jo", Key: "k",
		Holders: []fleet.Holder{{Replica: "b", Token: 6, Attempt: 1, From: at, To: at, Released: true, Next: "a"}},
		Runs: []fleet.Run{{
			Attempt: 2, Replica: "a", Token: 7, Started: at, Ended: at.Add(time.Second), End: "failed", Error: "two", Renewals: 3, Margin: time.Second, Margins: []time.Duration{2 * time.Second, time.Second},
		}},
		TriggerReason: "to see", CancelReason: "seen",
		Failing: &fleet.FailingRun{Job: "report", Token: 7, Attempt: 2, Failures: 2, Since: at, Error: "two", Next: at.Add(time.Minute)},
	}
	spec := jobs.Defaults()
	spec.Name, spec.Schedule, spec.Timezone, spec.Groups, spec.Rate = "report", "@daily", "Europe/Berlin", []string{"eu"}, jobs.Rate{Count: 1, Per: time.Minute}
	status := fleet.JobStatus{
		Name: "report", Given: true, Spec: spec, Schedule: "@daily", Timezone: "Europe/Berlin", Known: true, Open: []fleet.Entry{entry}, Last: &entry,
		LastRun: &entry, LastSuccess: &entry, Newest: []protocol.Outcome{"failed"}, Next: at, Overdue: at, Ahead: time.Minute,
		Paused: &fleet.Pause{By: "ops", Reason: "why", Since: at}, Replicas: []string{"a"}, Revisions: map[string][]string{"x": {"a"}, "y": {"b"}},
	}
	fact := fleet.Fact{Kind: wire.FactPaused, At: at, By: "ops", Tick: at, Reason: "r", Via: "cli", Job: "report", Groups: []string{"eu"}, Step: time.Second}
	replica := fleet.Replica{
		ID: "a", Groups: []string{"eu"}, Started: at, Version: "v1", ClockOffset: time.Millisecond, TTL: time.Second, Running: 1, MaxRuns: 2, Used: 1, Waiting: 3,
		Stopping: true, LastHeartbeat: at, Gone: true, JobCount: 4, Others: map[string]int64{"x": 1},
	}
	for name, pair := range map[string][2]any{
		"audit":       {fleet.AuditLog{Facts: []fleet.Fact{fact}, Next: "7.3", Used: 5, Budget: 9}, new(fleet.AuditLog)},
		"entry":       {entry, new(fleet.Entry)},
		"fact":        {fact, new(fleet.Fact)},
		"status":      {fleet.Status{Namespace: "billing", Now: at, Since: at, Replicas: []fleet.Replica{replica}, Jobs: []fleet.JobStatus{status}}, new(fleet.Status)},
		"explanation": {fleet.Explanation{Job: "report", ID: "i", Tick: at, Verdict: "failed", Text: "It failed.", Entry: &entry, Facts: []fleet.Fact{fact}}, new(fleet.Explanation)},
		"triggered":   {fleet.Triggered{Status: protocol.Repeated, ID: "i", Tick: at, Wait: time.Second, Next: at, Limit: protocol.LimitRate}, new(fleet.Triggered)},
		"cancelled":   {fleet.Cancelled{Status: protocol.CancelPending, Job: "report", ID: "i", Tick: at, By: "ops", Replica: "a", Remaining: time.Second, Entry: &entry}, new(fleet.Cancelled)},
		"pause":       {*status.Paused, new(fleet.Pause)},
		"description": {fleet.Description{
			Namespace: "billing", Now: at, JobStatus: status, Definitions: []fleet.Definition{{Revision: "x", Replicas: []string{"a"}, Given: true, Fields: map[string]string{"schedule": "@daily"}}},
			Coming: []time.Time{at}, Outcomes: []fleet.Entry{entry}, Counts: map[protocol.Outcome]int{"failed": 1}, Since: at, Runs: 1, Median: time.Second, Longest: time.Minute, HistoryBytes: 5, HistoryLimit: 9, Facts: []fleet.Fact{fact},
		}, new(fleet.Description)},
	} {
		written, err := fleet.Marshal(pair[0])
		require.NoError(t, err, name)
		require.NoError(t, fleet.Unmarshal(written, pair[1]), name)
		again, err := fleet.Marshal(pair[1])
		require.NoError(t, err, name)
		require.JSONEq(t, string(written), string(again), name)
		require.Error(t, fleet.Unmarshal([]byte(`{"`), pair[1]), name)
	}
	require.Error(t, fleet.Unmarshal([]byte(`{"status": "odd"}`), new(fleet.Triggered)))
	require.Error(t, fleet.Unmarshal([]byte(`{"status": "odd"}`), new(fleet.Cancelled)))
}

func TestAJournalKeepsItsFormat(t *testing.T) {
	at := time.UnixMilli(1795342800123).UTC()
	fact := fleet.Fact{
		Kind: wire.FactResumed, At: at, By: "ops", Reason: "<done>", Via: "cli", Pauser: "jo", Why: "moved", From: at, To: at.Add(time.Second), Payload: 3, Living: 2, Step: time.Second,
	}
	require.JSONEq(t, `{"kind":"resumed","by":"ops","reason":"<done>","via":"cli","payload":3,"why":"moved","pauser":"jo","from":1795342800123,`+
		`"to":1795342801123,"living":2,"step_ms":1000}`, string(fact.Encode()))
}
