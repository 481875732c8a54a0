package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
)

func TestDoctorJudgesTheFleet(t *testing.T) {
	now := time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC)
	report, err := jobs.New("report", "@daily", func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, err)
	replica := func(id string, change func(*fleet.Replica)) fleet.Replica {
		r := fleet.Replica{ID: id, Version: "v1", Term: 15 * time.Second, Heard: now, Jobs: map[string]string{"report": report.Revision()}, JobCount: 1}
		if change != nil {
			change(&r)
		}
		return r
	}
	off := func(d time.Duration) func(*fleet.Replica) { return func(r *fleet.Replica) { r.ClockOffset = d } }
	clock := func(c fleet.Clock, step time.Duration) func(*fleet.Replica) {
		return func(r *fleet.Replica) { r.Clock, r.Step = c, step }
	}
	holds := func(limit, used, waiting int) func(*fleet.Replica) {
		return func(r *fleet.Replica) { r.MaxRuns, r.Used, r.Waiting = limit, used, waiting }
	}
	served := fleet.JobStatus{Name: "report", Given: true, Known: true}
	for name, test := range map[string]struct {
		replicas, silent []fleet.Replica
		job              fleet.JobStatus
		check            string
		result           grade
		finding          string
	}{
		"nothing wrong":     {replicas: []fleet.Replica{replica("a", nil), replica("b", nil)}, job: served},
		"nothing to see":    {job: fleet.JobStatus{Name: "report", Given: true, Unserved: true}},
		"nobody lives":      {silent: []fleet.Replica{replica("a", nil)}, job: served, check: "fleet", result: isFail, finding: "no live replica in namespace ns: nothing runs; the last heartbeat was that of a at 2026-11-20 01:30:00"},
		"a clock off":       {replicas: []fleet.Replica{replica("a", off(-1500*time.Millisecond)), replica("b", nil)}, job: served, check: "replica-clocks", result: isWarn, finding: "that of a is 1.5s fast"},
		"a clock far off":   {replicas: []fleet.Replica{replica("a", off(90*time.Second)), replica("b", nil)}, job: served, check: "replica-clocks", result: isFail, finding: "that of a is 1m30s slow"},
		"the store's clock": {replicas: []fleet.Replica{replica("a", off(-8*time.Hour)), replica("b", off(-8*time.Hour+time.Millisecond))}, job: served, check: "replica-clocks", result: isFail, finding: "those of all 2 replicas are 8h0m0s fast, and agree with each other: it is the store's clock that is wrong"},
		"the store's clock stepped": {
			replicas: []fleet.Replica{replica("a", clock(fleet.ClockStepped, 8*time.Hour)), replica("b", clock(fleet.ClockStepped, 8*time.Hour)), replica("c", clock(fleet.ClockTrusted, 0))},
			job:      served, check: "store-clock", result: isFail,
			finding: "Redis's clock stepped by 8h0m0s, by what a, b saw; nothing is claimed there until it is right again, or steady for 15s on all replicas",
		},
		"the store's clock stepped back": {
			replicas: []fleet.Replica{replica("a", func(r *fleet.Replica) { clock(fleet.ClockStepped, -time.Hour)(r); r.Term = time.Second })},
			job:      served, check: "store-clock", result: isFail, finding: "stepped by -1h0m0s, by what a saw; nothing is claimed there until it is right again, or steady for 5s",
		},
		"the store's clock is doubted": {
			replicas: []fleet.Replica{replica("a", clock(fleet.ClockDoubted, 0)), replica("b", nil)}, job: served, check: "store-clock", result: isFail,
			finding: "Redis's clock disagrees with that of the machine of a, which just started; nothing is claimed there until",
		},
		"the store's clock is trusted": {replicas: []fleet.Replica{replica("a", clock(fleet.ClockTrusted, time.Hour))}, job: served},
		"one id for three":             {replicas: []fleet.Replica{replica("web", func(r *fleet.Replica) { r.Others = map[string]int64{"x": 0, "y": 0} })}, job: served, check: "replica-ids", result: isFail, finding: "3 processes are called web"},
		"silent":                       {replicas: []fleet.Replica{replica("a", func(r *fleet.Replica) { r.Heard = now.Add(-9 * time.Second) })}, job: served, check: "heartbeats", result: isWarn, finding: "a is silent since 9s ago"},
		"gone":                         {replicas: []fleet.Replica{replica("a", nil)}, silent: []fleet.Replica{replica("b", func(r *fleet.Replica) { r.Heard = now.Add(-time.Minute) })}, job: served, check: "heartbeats", result: isWarn, finding: "b was gone 1m0s ago without signing off"},
		"versions":                     {replicas: []fleet.Replica{replica("a", nil), replica("b", func(r *fleet.Replica) { r.Version = "v2" })}, job: served, check: "versions", result: isWarn, finding: "v1 on a; v2 on b"},
		"definitions": {
			replicas: []fleet.Replica{replica("a", nil), replica("b", nil)}, check: "definitions", result: isFail, finding: "replicas differ about 1 job: report (x on a; y on b)",
			job: fleet.JobStatus{Name: "report", Given: true, Revisions: map[string][]string{"x": {"a"}, "y": {"b"}}},
		},
		"this file": {replicas: []fleet.Replica{replica("a", func(r *fleet.Replica) { r.Jobs["report"] = "x" })}, job: served, check: "configuration", result: isWarn, finding: "replicas have another one of report"},
		"unserved": {
			replicas: []fleet.Replica{replica("a", nil)}, check: "served", result: isFail, finding: "no live replica serves report (groups eu)",
			job: fleet.JobStatus{Name: "report", Given: true, Unserved: true, Spec: jobs.Spec{Groups: []string{"eu"}}},
		},
		"overdue": {
			replicas: []fleet.Replica{replica("a", nil)}, check: "overdue", result: isFail, finding: "report since 2026-11-20 00:00:00 +0000",
			job: fleet.JobStatus{Name: "report", Given: true, Overdue: now.Add(-90 * time.Minute)},
		},
		"a job too heavy": {
			replicas: []fleet.Replica{replica("a", holds(2, 0, 0)), replica("b", holds(3, 0, 0)), replica("c", nil)}, check: "weights", result: isFail, finding: "above the max_runs of every live replica that serves them, so that they never run: report (weight 4)",
			job: fleet.JobStatus{Name: "report", Given: true, Replicas: []string{"a", "b"}, Spec: jobs.Spec{Weight: 4}},
		},
		"a job that fits one": {
			replicas: []fleet.Replica{replica("a", holds(2, 0, 0)), replica("b", holds(4, 4, 0))},
			job:      fleet.JobStatus{Name: "report", Given: true, Replicas: []string{"a", "b"}, Spec: jobs.Spec{Weight: 4}},
		},
		"every replica full": {
			replicas: []fleet.Replica{replica("a", holds(2, 2, 3)), replica("b", holds(1, 1, 0))}, job: served, check: "capacity", result: isWarn,
			finding: "every replica is full, and ticks wait: a runs 2 of 2, and 3 jobs",
		},
		"a replica with room": {replicas: []fleet.Replica{replica("a", holds(2, 2, 3)), replica("b", holds(2, 1, 0))}, job: served},
		"a watermark in the future": {
			replicas: []fleet.Replica{replica("a", nil)}, check: "watermarks", result: isFail, finding: "no tick runs up to then: report by 8 h",
			job: fleet.JobStatus{Name: "report", Given: true, Ahead: 8 * time.Hour},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fleet.Status{Namespace: "ns", Now: now, Replicas: test.replicas, Silent: test.silent, Jobs: []fleet.JobStatus{test.job}}
			for _, f := range fleetFindings(s, []*jobs.Job{report}) {
				if f.Check != test.check {
					require.Equal(t, isOK, f.Result, f)
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
	for offset, want := range map[time.Duration]grade{
		0: isOK, 999 * time.Millisecond: isOK, -time.Second: isWarn, 59 * time.Second: isWarn, time.Minute: isFail, -3025 * time.Hour: isFail,
	} {
		f := clockFinding(offset, time.Millisecond)
		require.Equal(t, want, f.Result, offset)
		require.Equal(t, want == isFail, strings.Contains(f.Finding, "One of the two is wrong; if it is that of Redis, all ticks are"))
	}
}

func TestDoctorLooksAtRealReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF())
	config := func(schedule string) string {
		return file(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 1s}\njobs:\n"+
			"- {name: often, schedule: '"+schedule+"', log: {message: x}}\n- {name: in-us, schedule: '@yearly', groups: [us], log: {message: x}}\n")
	}
	path := config("@every 1s")
	diagnose := func() (code int, found map[string]finding) {
		r := do(t, nil, "doctor", "--config", path, "--output", "json")
		var x examination
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &x), r.stderr)
		found = map[string]finding{}
		for _, f := range x.Checks {
			found[f.Check] = f
		}
		return r.code, found
	}
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	second := start(t, config("@every 2s"), "--http", "127.0.0.1:0", "--replica", "other")
	twin := start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	for _, p := range []*process{first, second, twin} {
		p.ready(http.StatusOK)
	}
	require.Eventually(t, func() bool {
		code, f := diagnose()
		return code == 1 && f["definitions"].Result == isFail && f["served"].Result == isFail && f["replica-ids"].Result == isFail
	}, patience, 100*time.Millisecond)
	_, f := diagnose()
	require.Contains(t, f["definitions"].Finding, "replicas differ about 1 job: often (")
	require.Contains(t, f["served"].Finding, "in-us (groups us)")
	require.Equal(t, "2 processes are called web", f["replica-ids"].Finding)
	require.Equal(t, isOK, f["replica-clocks"].Result)
	require.Equal(t, isOK, f["store-clock"].Result)
	require.Regexp(t, `\nweb \(2 processes\) `, do(t, nil, "status", "--config", path).stdout)
	warned := func(p *process) bool {
		return len(p.all("other processes use this replica's id; give each its own, or leave replica out")) == 1
	}
	require.Eventually(t, func() bool { return warned(first) && warned(twin) }, patience, 50*time.Millisecond)

	second.signal(syscall.SIGKILL)
	require.Eventually(t, func() bool {
		_, f := diagnose()
		return strings.Contains(f["heartbeats"].Finding, "other was gone ")
	}, patience, 100*time.Millisecond)
	_, f = diagnose()
	require.Equal(t, isOK, f["definitions"].Result)
	for _, p := range []*process{first, twin} {
		p.signal(syscall.SIGTERM)
		require.Equal(t, 0, p.exit())
	}
}

func TestDoctorNoticesThatTheStoresClockStepped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF(), redistest.WithClock())
	path := file(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 30s}\njobs:\n- {name: often, schedule: '@every 1s', log: {message: x}}\n")
	p := start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	p.ready(http.StatusOK)
	storeClock := func() (found finding) {
		var x examination
		r := do(t, nil, "doctor", "--config", path, "--output", "json")
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &x), r.stderr)
		for _, f := range x.Checks {
			if f.Check == "store-clock" {
				found = f
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return storeClock().Result == isOK }, patience, 50*time.Millisecond)
	server.SetClock(8 * time.Hour)
	require.Contains(t, p.ready(http.StatusServiceUnavailable), "check the time on the store's machine")
	require.Eventually(t, func() bool { return storeClock().Result == isFail }, patience, 50*time.Millisecond)
	require.Contains(t, storeClock().Finding, "Redis's clock stepped by 8h0m0s, by what web saw")
	server.SetClock(0)
	p.ready(http.StatusOK)
	require.Eventually(t, func() bool { return storeClock().Result == isOK }, patience, 50*time.Millisecond)
}
