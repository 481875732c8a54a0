package metrics_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

// exercised returns metrics in which every series exists.
func exercised() *metrics.Metrics {
	m := metrics.New(metrics.WithVersion("v1.2.3"))
	m.Watch(&fleet{jobs: []scheduler.JobStatus{
		{Name: "a", Next: tick.Add(1500 * time.Millisecond), LastSuccess: tick, LastFailure: tick, FailingSince: tick}, {Name: "b"}, {Name: "c", Leader: true, Leads: true},
	}, held: 2})
	m.CountRedisCommands(3)
	m.CountReload(true, nil)
	for _, e := range events {
		m.Observe(e)
	}
	return m
}

func TestTheSeriesAreThoseThatArePromised(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(exercised()))
	families, err := registry.Gather()
	require.NoError(t, err)

	promised := map[string]string{ // name: labels
		"ticks_total": "job outcome", "misfires_total": "reason", "max_runs": "", "capacity_reached": "", "store_overloaded": "", "capacity_used": "", "capacity_waiting_jobs": "", "claims_total": "job result", "run_duration_seconds": "", "tick_lag_seconds": "",
		"runs_in_progress": "job", "run_retries_total": "job", "takeovers_total": "job",
		"leases_held": "", "lease_margin_seconds": "", "job_overdue_seconds": "job", "lease_wait_seconds": "", "lease_hold_seconds": "",
		"lease_renewals_total": "result", "leases_lost_total": "reason",
		"redis_commands_total": "", "replica_processes": "", "store_up": "", "store_forgotten_total": "", "records_behind_total": "", "records_unreadable_total": "", "events_dropped_total": "", "clock_steps_total": "", "clock_trusted": "", "clock_offset_seconds": "",
		"next_tick_timestamp_seconds": "job", "last_success_timestamp_seconds": "job", "last_failure_timestamp_seconds": "job",
		"run_failing_seconds": "job",
		"leader":              "job", "replicas": "", "jobs_unserved": "", "jobs_differing": "",
		"config_reloads_total": "result", "config_last_reload_successful": "", "config_last_reload_timestamp_seconds": "",
		"build_info": "version",
	}
	got := map[string]string{}
	for _, family := range families {
		var labels []string
		for _, pair := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		name, ok := strings.CutPrefix(family.GetName(), "solotick_")
		require.True(t, ok, "%s", family.GetName())
		got[name] = strings.Join(labels, " ")
	}
	require.Equal(t, promised, got)
}

func TestNamesAndHelpAreAsPrometheusAdvises(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(exercised()))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestSeriesOfWatchedJobsBeginAtZero(t *testing.T) {
	m := metrics.New(metrics.WithJobHistograms())
	m.Watch(&fleet{jobs: []scheduler.JobStatus{{Name: "a"}}})
	requireSeries(t, m, `
# HELP solotick_claims_total Answers to this replica's claims, by result.
# TYPE solotick_claims_total counter
solotick_claims_total{job="a",result="busy"} 0
solotick_claims_total{job="a",result="decided"} 0
solotick_claims_total{job="a",result="early"} 0
solotick_claims_total{job="a",result="granted"} 0
solotick_claims_total{job="a",result="held"} 0
solotick_claims_total{job="a",result="late"} 0
solotick_claims_total{job="a",result="lost"} 0
solotick_claims_total{job="a",result="out_of_bounds"} 0
solotick_claims_total{job="a",result="paused"} 0
solotick_claims_total{job="a",result="queued"} 0
solotick_claims_total{job="a",result="skipped"} 0
solotick_claims_total{job="a",result="unknown"} 0
# HELP solotick_leases_held Leases that this replica holds.
# TYPE solotick_leases_held gauge
solotick_leases_held 0
# HELP solotick_leases_lost_total Runs that ended without their holder deciding about the tick, by reason.
# TYPE solotick_leases_lost_total counter
solotick_leases_lost_total{reason="expired"} 0
solotick_leases_lost_total{reason="fenced"} 0
solotick_leases_lost_total{reason="unsettled"} 0
# HELP solotick_run_retries_total Attempts that failed and were followed by another.
# TYPE solotick_run_retries_total counter
solotick_run_retries_total{job="a"} 0
# HELP solotick_runs_in_progress Runs in progress on this replica.
# TYPE solotick_runs_in_progress gauge
solotick_runs_in_progress{job="a"} 0
# HELP solotick_takeovers_total Runs of ticks that another holder had begun and not settled.
# TYPE solotick_takeovers_total counter
solotick_takeovers_total{job="a"} 0
# HELP solotick_ticks_total Ticks that this replica settled, by outcome.
# TYPE solotick_ticks_total counter
solotick_ticks_total{job="a",outcome="cancelled"} 0
solotick_ticks_total{job="a",outcome="failed"} 0
solotick_ticks_total{job="a",outcome="lost"} 0
solotick_ticks_total{job="a",outcome="missed"} 0
solotick_ticks_total{job="a",outcome="replaced"} 0
solotick_ticks_total{job="a",outcome="skipped"} 0
solotick_ticks_total{job="a",outcome="succeeded"} 0
`, "solotick_claims_total", "solotick_leases_held", "solotick_leases_lost_total", "solotick_run_retries_total",
		"solotick_runs_in_progress", "solotick_takeovers_total", "solotick_ticks_total")
	text := gathered(t, m)
	require.Contains(t, text, `solotick_run_duration_seconds_count{job="a"} 0`)
	require.Contains(t, text, `solotick_tick_lag_seconds_count{job="a"} 0`)
}

func TestUnknownValuesHaveNoSeries(t *testing.T) {
	m := metrics.New()
	require.NotContains(t, gathered(t, m), "leases_held")
	m.Watch(&fleet{jobs: []scheduler.JobStatus{{Name: "a"}}})
	text := gathered(t, m)
	for _, name := range []string{"next_tick_timestamp", "last_success_timestamp", "last_failure_timestamp", "run_failing", "clock_offset", "build_info"} {
		require.NotContains(t, text, name)
	}
}

func TestTheSourceIsReadAtEachScrape(t *testing.T) {
	m := metrics.New()
	source := &fleet{}
	m.Watch(source)
	for _, next := range []time.Time{tick, tick.Add(250 * time.Millisecond)} {
		source.held++
		source.jobs = []scheduler.JobStatus{{Name: "a", Next: next}}
		require.InDelta(t, float64(source.held), value(t, m, "solotick_leases_held"), 0)
		require.InDelta(t, float64(next.UnixMilli())/1000, value(t, m, "solotick_next_tick_timestamp_seconds"), 0)
	}
}

func TestJobsSayHowLongTheyAreOverdue(t *testing.T) {
	m := metrics.New()
	m.Watch(&fleet{jobs: []scheduler.JobStatus{
		{Name: "late", Overdue: 1500 * time.Millisecond}, {Name: "punctual", Next: tick}, {Name: "task", Leader: true},
	}})
	requireSeries(t, m, `
# HELP solotick_job_overdue_seconds Time since a tick of the job had to have begun at the latest, which neither runs nor is settled; else 0.
# TYPE solotick_job_overdue_seconds gauge
solotick_job_overdue_seconds{job="late"} 1.5
solotick_job_overdue_seconds{job="punctual"} 0
`, "solotick_job_overdue_seconds")
}

func TestJobsSayHowTheirLastRunsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		m.Observe(scheduler.ClockSampled{Offset: 2500 * time.Millisecond})
		m.Watch(&fleet{jobs: []scheduler.JobStatus{
			{Name: "a", LastSuccess: time.Now(), LastFailure: time.Now().Add(time.Second), FailingSince: time.Now()},
			{Name: "task", Leader: true, FailingSince: time.Now().Add(-time.Minute)},
		}})
		requireSeries(t, m, `
# HELP solotick_last_failure_timestamp_seconds When a tick of the job last failed, as far as this replica knows, in Unix time.
# TYPE solotick_last_failure_timestamp_seconds gauge
solotick_last_failure_timestamp_seconds{job="a"} 9.46684801e+08
# HELP solotick_last_success_timestamp_seconds When a tick of the job last succeeded, as far as this replica knows, in Unix time.
# TYPE solotick_last_success_timestamp_seconds gauge
solotick_last_success_timestamp_seconds{job="a"} 9.466848e+08
# HELP solotick_run_failing_seconds Time since when the attempts of a run by this replica have failed, two or more in a row.
# TYPE solotick_run_failing_seconds gauge
solotick_run_failing_seconds{job="a"} 2.5
solotick_run_failing_seconds{job="task"} 62.5
`, "solotick_last_failure_timestamp_seconds", "solotick_last_success_timestamp_seconds", "solotick_run_failing_seconds")
	})
}

func value(t *testing.T, m *metrics.Metrics, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.Fail(t, "no series", name)
	return 0
}

func TestMetricsAreSafeForConcurrentUse(t *testing.T) {
	m := metrics.New()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				for _, e := range events {
					m.Observe(e)
				}
			}
		})
	}
	group.Go(func() {
		for range 20 {
			m.Watch(&fleet{jobs: []scheduler.JobStatus{{Name: "a", Next: tick}}, held: 1})
		}
	})
	group.Go(func() {
		for range 20 {
			if testutil.CollectAndCount(m) == 0 {
				t.Error("no series")
			}
		}
	})
	group.Wait()
	require.Contains(t, gathered(t, m), `solotick_ticks_total{job="a",outcome="succeeded"} 200`)
}
