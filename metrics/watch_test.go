package metrics_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

func TestALeaderTaskHasNoSeriesAboutTicks(t *testing.T) {
	m := metrics.New(metrics.WithJobHistograms())
	source := &fleet{jobs: []scheduler.JobStatus{{Name: "a", Leader: true, Next: tick}}}
	m.Watch(source)
	m.Observe(scheduler.RunStarted{Run: run(1)})
	text := gathered(t, m)
	require.Contains(t, text, `solotick_leader{job="a"} 0`)
	require.Contains(t, text, `solotick_runs_in_progress{job="a"} 1`)
	require.Contains(t, text, `solotick_run_duration_seconds_count{job="a"} 0`)
	require.Contains(t, text, `solotick_run_retries_total{job="a"} 0`)
	for _, name := range []string{"next_tick_timestamp", "ticks_total", "claims_total", "tick_lag", "takeovers"} {
		require.NotContains(t, text, name)
	}
	source.jobs[0].Leads = true
	require.Contains(t, gathered(t, m), `solotick_leader{job="a"} 1`)

	source.jobs[0] = scheduler.JobStatus{Name: "a", Next: tick}
	m.Watch(source)
	text = gathered(t, m)
	require.NotContains(t, text, "solotick_leader")
	require.Contains(t, text, `solotick_ticks_total{job="a",outcome="lost"} 0`, "it is a job with ticks now")
}

// Each example of an event is about job a.
func TestRemovedJobLeavesNoSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		source := &fleet{jobs: []scheduler.JobStatus{{Name: "a", LastSuccess: tick}, {Name: "b"}}}
		m.Watch(source)
		for range 3 {
			m.Observe(scheduler.RunStarted{Run: run(2)})
		}
		for _, e := range events { // which start one run and end three
			m.Observe(e)
		}
		require.Contains(t, gathered(t, m), `solotick_last_success_timestamp_seconds{job="a"}`)

		source.jobs = source.jobs[1:]
		m.Watch(source)
		time.Sleep(time.Hour)
		text := gathered(t, m)
		require.Contains(t, text, `solotick_runs_in_progress{job="a"} 1`, "a run goes on")
		require.NotContains(t, text, `solotick_last_success_timestamp_seconds{job="a"}`, "an alert on it would never end")

		m.Observe(scheduler.RunSettled{Run: run(2), Outcome: wire.Succeeded})
		time.Sleep(10*time.Minute - time.Second)
		text = gathered(t, m)
		require.Contains(t, text, `solotick_ticks_total{job="a",outcome="succeeded"} 2`, "how it ended is still to be scraped")
		require.NotContains(t, text, `solotick_last_success_timestamp_seconds{job="a"}`)

		time.Sleep(time.Second)
		text = gathered(t, m)
		require.NotContains(t, text, `job="a"`)
		require.Contains(t, text, `solotick_ticks_total{job="b",outcome="succeeded"} 0`)
	})
}

func TestReturningJobContinuesItsSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		source := &fleet{jobs: []scheduler.JobStatus{{Name: "a"}}}
		m.Watch(source)
		m.Observe(scheduler.RunSettled{Run: run(1), Outcome: wire.Failed})
		jobs := source.jobs
		source.jobs = nil
		m.Watch(source)
		time.Sleep(time.Minute)
		source.jobs = jobs
		m.Watch(source)
		time.Sleep(time.Hour)
		require.Contains(t, gathered(t, m), `solotick_ticks_total{job="a",outcome="failed"} 1`)
	})
}
