package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// lags collects how late handlers started.
type lags struct {
	mu   sync.Mutex
	list []time.Duration
}

func (l *lags) add(d time.Duration) {
	l.mu.Lock()
	l.list = append(l.list, d)
	l.mu.Unlock()
}

func (l *lags) report(b *testing.B) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.list)
	require.NotEmpty(b, l.list)
	at := func(q float64) float64 {
		return float64(l.list[int(q*float64(len(l.list)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	b.ReportMetric(float64(len(l.list)), "runs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLateness runs 10,000 jobs of @every 1 to 60 s in one process for 20 s, as one after the other runner, and
// reports how long after their scheduled time they started. It runs once, whatever b.N.
func BenchmarkLateness(b *testing.B) {
	const count, runFor = 10_000, 20 * time.Second
	every := func(i int) string { return fmt.Sprintf("@every %ds", 1+i%60) }

	b.Run("solotick", func(b *testing.B) {
		late := new(lags)
		var registry jobs.Registry
		for i := range count {
			job, err := jobs.New(fmt.Sprintf("job-%d", i), every(i), func(_ context.Context, run jobs.Run) error {
				late.add(time.Since(run.Tick))
				return nil
			})
			require.NoError(b, err)
			require.NoError(b, registry.Add(job))
		}
		s, err := scheduler.New(new(memlease.Store), &registry)
		require.NoError(b, err)
		ctx, cancel := context.WithTimeout(b.Context(), runFor)
		defer cancel()
		require.NoError(b, s.Run(ctx))
		late.report(b)
	})
	b.Run("robfig", func(b *testing.B) {
		late := new(lags)
		c := cron.New()
		for i := range count {
			// robfig tells a job no scheduled time, but all of them are whole seconds.
			_, err := c.AddFunc(every(i), func() { late.add(time.Duration(time.Now().Nanosecond())) })
			require.NoError(b, err)
		}
		c.Start()
		time.Sleep(runFor)
		<-c.Stop().Done()
		late.report(b)
	})
}
