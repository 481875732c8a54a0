package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

// afterADay returns the metrics of a replica that has run each of so many jobs: one in ten failed
// and was tried again, and one in a hundred was missed.
func afterADay(n int, options ...metrics.Option) *metrics.Metrics {
	m := metrics.New(options...)
	source := &fleet{}
	for i := range n {
		source.jobs = append(source.jobs, scheduler.JobStatus{Name: fmt.Sprintf("reports-of-team-%05d", i), Next: tick})
	}
	m.Watch(source)
	for i, job := range source.jobs {
		run := jobs.Run{Job: job.Name, Tick: tick, Token: 7, Attempt: 1}
		m.Observe(scheduler.Claimed{Job: job.Name, Status: protocol.Granted, Took: time.Millisecond})
		m.Observe(scheduler.RunStarted{Run: run})
		if i%10 == 0 {
			m.Observe(scheduler.RunRetried{Run: run})
			m.Observe(scheduler.RunSettled{Run: run, Outcome: wire.Failed})
			m.Observe(scheduler.RunStarted{Run: run})
		}
		m.Observe(scheduler.RunSettled{Run: run, Outcome: wire.Succeeded})
		if i%100 == 0 {
			m.Observe(scheduler.TicksSkipped{Job: job.Name, Outcome: wire.Missed, Reason: wire.ReasonMisfire, Count: 1})
		}
	}
	return m
}

func TestScrapeOfTenThousandJobsIsBounded(t *testing.T) {
	text := gathered(t, afterADay(10_000))
	require.Less(t, len(text), 5_000_000)
	for _, line := range []string{
		`solotick_ticks_total{job="reports-of-team-00010",outcome="failed"} 1`,
		`solotick_ticks_total{job="reports-of-team-00100",outcome="missed"} 1`,
		`solotick_ticks_total{job="reports-of-team-00101",outcome="failed"} 0`,
		`solotick_job_overdue_seconds{job="reports-of-team-09999"} 0`,
		`solotick_run_duration_seconds_count 11000`,
		`solotick_tick_lag_seconds_count 11000`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

func TestHistogramsOfJobsAreAChoice(t *testing.T) {
	require.NotContains(t, gathered(t, afterADay(3)), `seconds_count{job=`)
	text := gathered(t, afterADay(3, metrics.WithJobHistograms()))
	require.Contains(t, text, `solotick_run_duration_seconds_count{job="reports-of-team-00000"} 2`)
	require.Contains(t, text, `solotick_tick_lag_seconds_count{job="reports-of-team-00002"} 1`)
}
