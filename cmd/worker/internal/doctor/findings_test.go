package doctor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/jobs"
)

func TestDoctorJudgesTheFleet(t *testing.T) {
	now := time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC)
	report, err := jobs.New("report", "@daily", func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, err)
	replica := func(id string, change func(*fleet.Replica)) fleet.Replica {
		r := fleet.Replica{ID: id, Version: "v1", TTL: 15 * time.Second, LastHeartbeat: now, Jobs: map[string]string{"report": report.Revision()}, JobCount: 1}
		if change != nil {
			change(&r)
		}
		return r
	}
	off := func(d time.Duration) func(*fleet.Replica) { return func(r *fleet.Replica) { r.ClockOffset = d } }
	clock := func(c string, step time.Duration) func(*fleet.Replica) {
		return func(r *fleet.Replica) { r.Clock, r.Step = c, step }
	}
	load := func(limit, used, waiting int) func(*fleet.Replica) {
		return func(r *fleet.Replica) { r.MaxRuns, r.Used, r.Waiting = limit, used, waiting }
	}
	served := fleet.JobStatus{Name: "report", Given: true, Known: true}
	for name, test := range map[string]struct {
		replicas, silent []fleet.Replica
		job              fleet.JobStatus
		check            string
		result           Result
		finding          string
	}{
		"nothing wrong":     {replicas: []fleet.Replica{replica("a", nil), replica("b", nil)}, job: served},
		"nothing to see":    {job: fleet.JobStatus{Name: "report", Given: true, Unserved: true}},
		"no replica alive":  {silent: []fleet.Replica{replica("a", nil)}, job: served, check: "fleet", result: Fail, finding: "no replica is alive in namespace ns: nothing runs; the last heartbeat was from a at 2026-11-20 01:30:00"},
		"a clock off":       {replicas: []fleet.Replica{replica("a", off(-1500*time.Millisecond)), replica("b", nil)}, job: served, check: "replica-clocks", result: Warn, finding: "the clock of a is 1.5s fast"},
		"a clock far off":   {replicas: []fleet.Replica{replica("a", off(90*time.Second)), replica("b", nil)}, job: served, check: "replica-clocks", result: Fail, finding: "the clock of a is 1m30s slow"},
		"the store's clock": {replicas: []fleet.Replica{replica("a", off(-8*time.Hour)), replica("b", off(-8*time.Hour+time.Millisecond))}, job: served, check: "replica-clocks", result: Fail, finding: "the clocks of all 2 replicas are 8h0m0s fast and agree with each other: the store's clock is wrong"},
		"the store's clock stepped": {
			replicas: []fleet.Replica{replica("a", clock(heartbeat.ClockStepped, 8*time.Hour)), replica("b", clock(heartbeat.ClockStepped, 8*time.Hour)), replica("c", clock(heartbeat.ClockTrusted, 0))},
			job:      served, check: "store-clock", result: Fail,
			finding: "Redis's clock stepped by 8h0m0s, as a, b observed; these replicas claim no ticks until the clock is right again, or has been steady for 15s on all replicas",
		},
		"the store's clock stepped back": {
			replicas: []fleet.Replica{replica("a", func(r *fleet.Replica) { clock(heartbeat.ClockStepped, -time.Hour)(r); r.TTL = time.Second })},
			job:      served, check: "store-clock", result: Fail, finding: "stepped by -1h0m0s, as a observed; these replicas claim no ticks until the clock is right again, or has been steady for 5s",
		},
		"the store's clock is doubted": {
			replicas: []fleet.Replica{replica("a", clock(heartbeat.ClockDoubted, 0)), replica("b", nil)}, job: served, check: "store-clock", result: Fail,
			finding: "Redis's clock disagrees with that of the machine of a, which has just started; these replicas claim no ticks until",
		},
		"the store's clock is trusted": {replicas: []fleet.Replica{replica("a", clock(heartbeat.ClockTrusted, time.Hour))}, job: served},
		"one id for three":             {replicas: []fleet.Replica{replica("web", func(r *fleet.Replica) { r.Others = map[string]int64{"x": 0, "y": 0} })}, job: served, check: "replica-ids", result: Fail, finding: "3 processes have the id web"},
		"silent":                       {replicas: []fleet.Replica{replica("a", func(r *fleet.Replica) { r.LastHeartbeat = now.Add(-9 * time.Second) })}, job: served, check: "heartbeats", result: Warn, finding: "a sent its last heartbeat 9s ago"},
		"gone":                         {replicas: []fleet.Replica{replica("a", nil)}, silent: []fleet.Replica{replica("b", func(r *fleet.Replica) { r.LastHeartbeat = now.Add(-time.Minute) })}, job: served, check: "heartbeats", result: Warn, finding: "b ended without signing off; its last heartbeat was 1m0s ago"},
		"versions":                     {replicas: []fleet.Replica{replica("a", nil), replica("b", func(r *fleet.Replica) { r.Version = "v2" })}, job: served, check: "versions", result: Warn, finding: "v1 on a; v2 on b"},
		"definitions": {
			replicas: []fleet.Replica{replica("a", nil), replica("b", nil)}, check: "definitions", result: Fail, finding: "replicas define 1 job differently: report (x on a; y on b)",
			job: fleet.JobStatus{Name: "report", Given: true, Revisions: map[string][]string{"x": {"a"}, "y": {"b"}}},
		},
		"this file": {replicas: []fleet.Replica{replica("a", func(r *fleet.Replica) { r.Jobs["report"] = "x" })}, job: served, check: "configuration", result: Warn, finding: "replicas have other definitions of report"},
		"unserved": {
			replicas: []fleet.Replica{replica("a", nil)}, check: "served", result: Fail, finding: "no live replica serves report (groups eu)",
			job: fleet.JobStatus{Name: "report", Given: true, Unserved: true, Spec: jobs.Spec{Groups: []string{"eu"}}},
		},
		"overdue": {
			replicas: []fleet.Replica{replica("a", nil)}, check: "overdue", result: Fail, finding: "report since 2026-11-20 00:00:00 +0000",
			job: fleet.JobStatus{Name: "report", Given: true, Overdue: now.Add(-90 * time.Minute)},
		},
		"a job too heavy": {
			replicas: []fleet.Replica{replica("a", load(2, 0, 0)), replica("b", load(3, 0, 0)), replica("c", nil)}, check: "weights", result: Fail, finding: "they never run, because their weight is above max_runs of every live replica that serves them: report (weight 4)",
			job: fleet.JobStatus{Name: "report", Given: true, Replicas: []string{"a", "b"}, Spec: jobs.Spec{Weight: 4}},
		},
		"a job that fits one": {
			replicas: []fleet.Replica{replica("a", load(2, 0, 0)), replica("b", load(4, 4, 0))},
			job:      fleet.JobStatus{Name: "report", Given: true, Replicas: []string{"a", "b"}, Spec: jobs.Spec{Weight: 4}},
		},
		"every replica full": {
			replicas: []fleet.Replica{replica("a", load(2, 2, 3)), replica("b", load(1, 1, 0))}, job: served, check: "capacity", result: Warn,
			finding: "every replica is full, and ticks wait: a runs 2 of 2, and 3 jobs",
		},
		"a replica with room": {replicas: []fleet.Replica{replica("a", load(2, 2, 3)), replica("b", load(2, 1, 0))}, job: served},
		"a watermark in the future": {
			replicas: []fleet.Replica{replica("a", nil)}, check: "watermarks", result: Fail, finding: "no tick runs until then: report by 8 h",
			job: fleet.JobStatus{Name: "report", Given: true, Ahead: 8 * time.Hour},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fleet.Status{Namespace: "ns", Now: now, Replicas: test.replicas, Silent: test.silent, Jobs: []fleet.JobStatus{test.job}}
			for _, f := range fleetFindings(s, []*jobs.Job{report}) {
				if f.Check != test.check {
					require.Equal(t, OK, f.Result, f)
					require.Empty(t, f.Change)
					continue
				}
				require.Equal(t, test.result, f.Result)
				require.Contains(t, f.Finding, test.finding)
				require.NotEmpty(t, f.Change)
			}
		})
	}
}

func TestDoctorDistrustsAClockThatIsFarOff(t *testing.T) {
	for offset, want := range map[time.Duration]Result{
		0: OK, 999 * time.Millisecond: OK, -time.Second: Warn, 59 * time.Second: Warn, time.Minute: Fail, -3025 * time.Hour: Fail,
	} {
		f := clockFinding(offset, time.Millisecond, "Redis")
		require.Equal(t, want, f.Result, offset)
		require.Equal(t, want == Fail, strings.Contains(f.Finding, "One of the two is wrong; if it is that of Redis, all ticks run at wrong times"))
	}
}

func TestVersionsAndSizes(t *testing.T) {
	require.True(t, olderThan("6.2.14", [2]int{7, 0}))
	require.False(t, olderThan("7.0.0", [2]int{7, 0}))
	require.True(t, olderThan("7.0", [2]int{7, 2}))
	require.False(t, olderThan("10.1", [2]int{7, 2}))
	require.Equal(t, "1.5 KiB", size(1536))
	require.Equal(t, "12 B", size(12))
	require.Equal(t, "2.0 GiB", size(2<<30))
}
