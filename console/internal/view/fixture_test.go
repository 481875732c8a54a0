package view_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

var update = flag.Bool("update", false, "write the files of testdata instead of comparing with them")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func text(t *testing.T, p view.Page) string {
	t.Helper()
	return p.PlainText()
}

// noon is the fleet time of the fixture: a Friday, a week after the clocks of Berlin went back.
var noon = time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC)

func token(at time.Time) int64 { return at.UnixMicro() }

// job makes a job, with its status.
func job(t testing.TB, name, schedule string, options ...jobs.Option) (*jobs.Job, fleet.JobStatus) {
	t.Helper()
	j, err := jobs.New(name, schedule, func(context.Context, jobs.Run) error { return nil }, options...)
	require.NoError(t, err)
	s := fleet.JobStatus{Name: name, Given: true, Known: true, Spec: j.Spec(), Replicas: []string{"web-1", "web-2"}}
	if !j.Spec().Leader {
		s.Schedule, s.Timezone, s.Next = j.Schedule().String(), j.Schedule().Location().String(), j.Schedule().Next(noon)
	}
	return j, s
}

// run is the entry of a tick that was run.
func run(name string, tick time.Time, took time.Duration, outcome protocol.Outcome) fleet.Entry {
	return fleet.Entry{
		Job: name, ID: fmt.Sprintf("%s@%d", name, tick.UnixMilli()), Scheduled: tick, Count: 1, State: wire.StateSettled, Outcome: outcome,
		Started: tick.Add(20 * time.Millisecond), Ended: tick.Add(20*time.Millisecond + took), Replica: "web-1", Token: token(tick.Add(15 * time.Millisecond)), Attempts: 1,
	}
}

// small is a snapshot with a job in each state.
func small(t testing.TB) *view.Snapshot {
	s := &view.Snapshot{Given: map[string]*jobs.Job{}}
	add := func(j *jobs.Job, status fleet.JobStatus) {
		s.Given[j.Name()] = j
		s.Status.Jobs = append(s.Status.Jobs, status)
	}
	j, nightly := job(t, "nightly-report", "0 2 * * *", jobs.WithTimezone("Europe/Berlin"), jobs.WithGroups("eu"))
	last := run("nightly-report", time.Date(2026, 10, 30, 1, 0, 0, 0, time.UTC), 4*time.Minute, "failed")
	last.Error = "exit code 1\nFATAL: the disk\x1b[31m is full"
	nightly.Last, nightly.LastRun, nightly.Newest = &last, &last, []protocol.Outcome{"succeeded", "missed", "failed"}
	add(j, nightly)

	j, sync := job(t, "sync-orders", "*/15 * * * *")
	ok := run("sync-orders", noon.Add(-15*time.Minute), 40*time.Second, "succeeded")
	sync.Last, sync.LastRun, sync.LastSuccess, sync.Newest = &ok, &ok, &ok, []protocol.Outcome{"succeeded", "succeeded"}
	sync.Open = []fleet.Entry{{Job: "sync-orders", Scheduled: noon, Count: 1, State: wire.StateRunning, Started: noon.Add(time.Second), Replica: "web-2", Token: token(noon), Attempts: 1, Remaining: 10 * time.Second}}
	add(j, sync)

	j, paused := job(t, "weekly-invoice", "30 9 * * 1-5", jobs.WithTimezone("Asia/Tokyo"))
	paused.Paused = &fleet.Pause{By: "ann", Reason: "the books are closed", Since: noon.Add(-26 * time.Hour)}
	add(j, paused)

	j, overdue := job(t, "import", "@every 10m")
	overdue.Overdue = noon.Add(-20 * time.Minute)
	overdue.Replicas = nil
	overdue.Unserved = true
	add(j, overdue)

	j, differs := job(t, "cleanup", "H * * * *")
	differs.Revisions = map[string][]string{"aaaaaaaaaaaa": {"web-1"}, "bbbbbbbbbbbb": {"web-2"}}
	add(j, differs)

	j, leader := job(t, "indexer", "", jobs.WithLeader())
	leader.Open = []fleet.Entry{{Job: "indexer", Count: 1, State: wire.StateRunning, Started: noon.Add(-time.Hour), Replica: "web-1", Token: token(noon.Add(-time.Hour)), Attempts: 1}}
	add(j, leader)

	s.Status.Jobs = append(s.Status.Jobs, fleet.JobStatus{Name: "old-job", Known: true, Unserved: true, Schedule: "0 4 * * *", Timezone: "UTC", Next: time.Date(2026, 10, 31, 4, 0, 0, 0, time.UTC)})
	s.Status.Namespace, s.Status.Now, s.Status.Since = "billing", noon, noon.Add(-40*24*time.Hour)
	serves := map[string]string{"nightly-report": "r", "sync-orders": "r", "weekly-invoice": "r", "cleanup": "aaaaaaaaaaaa", "indexer": "r"}
	s.Status.Replicas = []fleet.Replica{
		{ID: "web-1", Groups: []string{"eu"}, Version: "1.4.0", Started: noon.Add(-50 * time.Hour), TTL: 15 * time.Second, Running: 1, MaxRuns: 4, Used: 1, Jobs: serves, JobCount: 5, Clock: "trusted", LastHeartbeat: noon.Add(-time.Second)},
		{ID: "web-2", Version: "1.3.9", Started: noon.Add(-time.Hour), TTL: 15 * time.Second, Running: 1, MaxRuns: 1, Used: 1, Waiting: 2, Jobs: serves, JobCount: 5, Clock: "trusted", ClockOffset: -1200 * time.Millisecond, LastHeartbeat: noon.Add(-30 * time.Second)},
	}
	s.Status.Silent = []fleet.Replica{{ID: "web-0", Version: "1.3.9", Started: noon.Add(-90 * time.Hour), TTL: 15 * time.Second, MaxRuns: 4, Gone: true, JobCount: 5, LastHeartbeat: noon.Add(-2 * time.Hour)}}
	s.Store = view.StoreView{
		Kind: "redis", Server: "Redis 7.0.15", Address: "localhost:6379", Latency: 310,
		Findings: []view.Finding{{Check: "memory", Severity: "warning", Text: "maxmemory-policy is allkeys-lru", Hint: "set noeviction"}},
	}
	s.Facts = []fleet.Fact{{At: noon.Add(-2 * time.Hour), Kind: wire.FactAway, By: "web-1", From: noon.Add(-2*time.Hour - time.Minute), To: noon.Add(-2 * time.Hour)}}
	s.Locks = []protocol.Lock{
		{Name: "stock", Token: 12, Holds: []protocol.Hold{{Holder: "web-1", Token: 12, Permits: 1, Since: noon.Add(-time.Minute), Remaining: 9 * time.Second}}, Waiters: 1, Queue: []protocol.Waiter{{Holder: "web-2", Permits: 1, Since: noon.Add(-30 * time.Second)}}},
		{Name: "door", Token: 3, Holds: []protocol.Hold{{Holder: "batch", Token: 3, Permits: 2, Since: noon.Add(-time.Hour)}}},
	}
	return s
}

// many is a snapshot of n jobs, of all schedules and states.
func many(t testing.TB, n int) *view.Snapshot {
	s := &view.Snapshot{Given: make(map[string]*jobs.Job, n)}
	s.Status.Namespace, s.Status.Now = "billing", noon
	schedules := []string{"0 * * * *", "*/15 * * * *", "H 2 * * *", "30 9 * * 1-5", "@every 90s", "0 0 1 * *"}
	var replicas []string
	for i := range 20 {
		replicas = append(replicas, fmt.Sprintf("web-%02d", i))
	}
	for i := range n {
		j, status := job(t, fmt.Sprintf("team-%02d.job-%05d", i%37, i), schedules[i%len(schedules)], jobs.WithGroups([]string{"eu", "us", "asia"}[i%3]))
		status.Replicas = replicas
		outcome := protocol.Outcome("succeeded")
		if i%50 == 0 {
			outcome = "failed"
		}
		last := run(j.Name(), noon.Add(-time.Duration(i%3600)*time.Second), time.Duration(i%97)*time.Second, outcome)
		status.Last, status.LastRun, status.Newest = &last, &last, []protocol.Outcome{"succeeded", outcome}
		s.Given[j.Name()] = j
		s.Status.Jobs = append(s.Status.Jobs, status)
	}
	return s
}

func query[Q any](t testing.TB, read func(url.Values) (Q, error), of string) Q {
	t.Helper()
	q, err := read(values(t, of))
	require.NoError(t, err)
	return q
}
