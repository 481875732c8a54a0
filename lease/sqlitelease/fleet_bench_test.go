package sqlitelease_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/sqlitelease"
	"github.com/solotick/solotick/scheduler"
)

// BenchmarkFleet is one instant at which every job of a fleet is due, once, whatever -benchtime
// says: 20 schedulers with a store each on one file, and 1,000 jobs that end at once. It reports
// how late they start, and when the last one is settled.
func BenchmarkFleet(b *testing.B) {
	const replicas, count = 20, 1000
	path := filepath.Join(b.TempDir(), "solotick.db")
	due := time.Now().Add(25 * time.Second).Truncate(time.Second).UTC()
	schedule := fmt.Sprintf("%d %d %d * * *", due.Second(), due.Minute(), due.Hour())
	var mu sync.Mutex
	var late []time.Duration
	var registry jobs.Registry
	for i := range count {
		job, err := jobs.New(fmt.Sprint("job-", i), schedule, func(_ context.Context, run jobs.Run) error {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, time.Since(run.Tick))
			return nil
		})
		require.NoError(b, err)
		require.NoError(b, registry.Add(job))
	}
	settled, done := 0, make(chan time.Duration, 1)
	observe := func(e scheduler.Event) {
		if e, ok := e.(scheduler.RunSettled); ok {
			mu.Lock()
			defer mu.Unlock()
			if settled++; settled == count {
				done <- time.Since(e.Run.Tick)
			}
		}
	}
	var fleet []*scheduler.Scheduler
	for i := range replicas {
		store, err := sqlitelease.New(path, "fleet")
		require.NoError(b, err)
		b.Cleanup(func() { _ = store.Close() })
		s, err := scheduler.New(store, &registry, scheduler.WithReplica(fmt.Sprint("replica-", i)), scheduler.WithSyncObserver(observe),
			scheduler.WithObserver(func(scheduler.Event) {}))
		require.NoError(b, err)
		require.NoError(b, s.Start())
		fleet = append(fleet, s)
	}
	took := time.Duration(0)
	select {
	case took = <-done:
	case <-time.After(time.Until(due) + time.Minute):
	}
	for _, s := range fleet {
		_ = s.Shutdown(context.Background())
	}
	mu.Lock()
	defer mu.Unlock()
	require.NotZero(b, took, "%d of %d were settled", settled, count)
	require.Len(b, late, count, "a tick ran twice")
	slices.Sort(late)
	b.ReportMetric(float64(late[count/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(late[count*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(took.Milliseconds()), "done-ms")
	b.ReportMetric(0, "ns/op")
}
