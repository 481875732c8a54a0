package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
)

// BenchmarkFleetStatus asks for the status of a fleet of three replicas whose jobs have full
// histories, and reports how long that takes, the commands for it, the bytes that leave Redis, and
// how many looks fail.
func BenchmarkFleetStatus(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		server := redistest.Start(b)
		gauge, count, given := newRedisGauge(b, server), new(wire), statusJobs(b, n)
		filled := false
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			if !filled {
				fillHistories(b, server.Addr(), given)
				filled = true
			}
			startServing(b, server.Addr(), given)
			f, err := fleet.New(statusStore(b, server.Addr(), count))
			require.NoError(b, err)
			before, sent := gauge.read(b), count.sent.Load()
			b.ResetTimer()
			failed := 0
			for range b.N {
				status, err := f.Status(context.Background(), given)
				if err != nil {
					failed++
					b.Log(err)
					continue
				}
				require.Len(b, status.Jobs, n)
				require.Len(b, status.Replicas, 3)
			}
			b.StopTimer()
			looks := float64(b.N)
			b.ReportMetric(float64(failed)/looks, "failed/look")
			b.ReportMetric(float64(count.sent.Load()-sent)/looks, "commands/look")
			b.ReportMetric(gauge.read(b).minus(before).out/looks/(1<<20), "MiB-out/look")
			b.ReportMetric(benchtest.Milliseconds(b.Elapsed())/looks, "ms/look")
		})
	}
}

func statusStore(b *testing.B, addr string, count *wire) *redislease.Store {
	client := redis.NewClient(&redis.Options{Addr: addr, Dialer: count.dial})
	store, err := redislease.New(client, "status")
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = store.Close(), client.Close() })
	return store
}

// statusJobs are never due while the benchmark runs.
func statusJobs(b *testing.B, n int) []*jobs.Job {
	schedule := fmt.Sprintf("@every 24h offset %dh", (time.Now().UTC().Hour()+12)%24)
	list := make([]*jobs.Job, n)
	for i := range list {
		job, err := jobs.New(fmt.Sprintf("job-%d", i), schedule, func(context.Context, jobs.Run) error { return nil })
		require.NoError(b, err)
		list[i] = job
	}
	return list
}

// startServing starts three replicas that serve the jobs, until the benchmark ends.
func startServing(b *testing.B, addr string, given []*jobs.Job) {
	var registry jobs.Registry
	require.NoError(b, registry.Add(given...))
	for i := range 3 {
		s, err := scheduler.New(statusStore(b, addr, new(wire)), &registry, scheduler.WithReplica(fmt.Sprintf("replica-%d", i)),
			scheduler.WithObserver(func(scheduler.Event) {})) // or failures are logged
		require.NoError(b, err)
		require.NoError(b, s.Start())
		b.Cleanup(func() { _ = s.Shutdown(context.Background()) })
		require.NoError(b, s.WaitReady(b.Context()))
	}
	f, err := fleet.New(statusStore(b, addr, new(wire)))
	require.NoError(b, err)
	require.Eventually(b, func() bool {
		live, err := f.Replicas(context.Background())
		return err == nil && len(live) == 3
	}, time.Minute, 50*time.Millisecond)
}

// fillHistories gives each job as many outcomes as the store keeps.
func fillHistories(b *testing.B, addr string, given []*jobs.Job) {
	store, ctx := statusStore(b, addr, new(wire)), context.Background()
	syncs := make([]protocol.Sync, len(given))
	oldest := time.Now().Add(-protocol.History * time.Minute).UnixMilli()
	for i, job := range given {
		syncs[i] = protocol.Sync{Name: job.Name(), Watermark: oldest}
	}
	_, err := store.Sync(ctx, syncs)
	require.NoError(b, err)
	next := make(chan string)
	failed := make(chan error, 128)
	for range cap(failed) {
		go func() {
			var err error
			for name := range next {
				for tick := range int64(protocol.History) {
					if err == nil {
						err = benchtest.Tick(ctx, store, name, oldest+1+tick)
					}
				}
			}
			failed <- err
		}()
	}
	for _, job := range given {
		next <- job.Name()
	}
	close(next)
	for range cap(failed) {
		require.NoError(b, <-failed)
	}
}
