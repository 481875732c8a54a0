package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

// events has an example of each type of event, and of each state that one may be about: each
// changes what is exported after the one before it.
var events = []scheduler.Event{
	scheduler.Claimed{Job: "a", Tick: tick, Status: protocol.Granted, Took: time.Millisecond},
	scheduler.RunStarted{Run: run(1), Lag: time.Millisecond},
	scheduler.RunRetried{Run: run(1), Err: errors.New("no"), Wait: time.Second},
	scheduler.RunSettled{Run: run(1), Outcome: wire.Succeeded, Took: time.Second, Held: time.Second},
	scheduler.RunLost{Run: run(1), Cause: protocol.ErrFenced, Took: time.Second, Held: time.Second},
	scheduler.RunReleased{Run: run(1), Took: time.Second, Held: time.Second},
	scheduler.TicksSkipped{Job: "a", To: tick, Count: 3, Outcome: wire.Missed, Reason: wire.ReasonMisfire},
	scheduler.Renewed{Renewal: lease.Renewal{Kept: 1}},
	scheduler.StoreChanged{Up: true},
	scheduler.StoreChanged{Err: errors.New("no")},
	scheduler.RecordUnreadable{Err: errors.New("no")},
	scheduler.RecordsLost{Since: tick},
	scheduler.RecordsLost{Job: "a"},
	scheduler.ClockChanged{By: time.Hour},
	scheduler.ClockChanged{Trusted: true, By: time.Hour},
	scheduler.ClockSampled{Offset: time.Second},
	scheduler.EventsDropped{Count: 2},
	scheduler.StoreLoadChanged{Overloaded: true, InFlight: 4, Waiting: 100, Waited: time.Second},
	scheduler.StoreLoadChanged{Lasted: time.Minute},
	scheduler.CapacityChanged{Capacity: scheduler.Capacity{MaxRuns: 1, Used: 1, Waiting: 1}, Full: true},
	scheduler.CapacityChanged{Lasted: time.Minute},
	scheduler.ReplicaShared{Replica: "a", Processes: 2},
	scheduler.FleetSeen{Replicas: 3, Unserved: []string{"b"}},
}

func TestEveryTypeOfEventIsExported(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../scheduler/event.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var types []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "event" {
			types = append(types, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	require.NotEmpty(t, types)

	m := metrics.New()
	for _, event := range events {
		name := fmt.Sprintf("%T", event)
		t.Run(name, func(t *testing.T) {
			before := gathered(t, m)
			m.Observe(event)
			require.NotEqual(t, before, gathered(t, m))
		})
		types = slices.DeleteFunc(types, func(t string) bool { return "scheduler."+t == name })
	}
	require.Empty(t, types, "no example of these events: add one to events, and what it means to Observe")
}

func TestATickIsCountedByItsOutcome(t *testing.T) {
	m := metrics.New()
	m.Observe(scheduler.RunSettled{Run: run(1), Outcome: wire.Succeeded})
	m.Observe(scheduler.RunSettled{Run: run(2), Outcome: wire.Failed, Err: errors.New("no")})
	m.Observe(scheduler.RunSettled{Run: run(1), Outcome: wire.Failed, Err: errors.New("no")})
	m.Observe(scheduler.TicksSkipped{Job: "a", Count: 40, Outcome: wire.Missed})
	m.Observe(scheduler.TicksSkipped{Job: "b", Count: 1, Outcome: wire.Skipped})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: protocol.ErrFenced})
	m.Observe(scheduler.RunReleased{Run: run(1)})
	requireSeries(t, m, `
# HELP solotick_ticks_total Ticks that this replica settled, by outcome.
# TYPE solotick_ticks_total counter
solotick_ticks_total{job="a",outcome="failed"} 2
solotick_ticks_total{job="a",outcome="missed"} 40
solotick_ticks_total{job="a",outcome="succeeded"} 1
solotick_ticks_total{job="b",outcome="skipped"} 1
`, "solotick_ticks_total")
}

func TestRunsInProgressFallHoweverARunEnds(t *testing.T) {
	m := metrics.New()
	want := func(n int) {
		t.Helper()
		requireSeries(t, m, fmt.Sprintf(`
# HELP solotick_runs_in_progress Runs in progress on this replica.
# TYPE solotick_runs_in_progress gauge
solotick_runs_in_progress{job="a"} %d
`, n), "solotick_runs_in_progress")
	}
	for range 4 {
		m.Observe(scheduler.RunStarted{Run: run(1)})
	}
	want(4)
	for i, end := range []scheduler.Event{
		scheduler.RunSettled{Run: run(1), Outcome: wire.Failed},
		scheduler.RunLost{Run: run(1), Cause: protocol.ErrFenced},
		scheduler.RunReleased{Run: run(1)},
		scheduler.RunSettled{Run: run(1), Outcome: wire.Succeeded},
	} {
		m.Observe(end)
		want(3 - i)
	}
}

func TestOnlyRunsThatAnotherHolderBeganAreTakeovers(t *testing.T) {
	m := metrics.New()
	m.Observe(scheduler.RunStarted{Run: run(1)})
	m.Observe(scheduler.RunRetried{Run: run(1)})
	m.Observe(scheduler.RunSettled{Run: run(2), Outcome: wire.Succeeded})
	m.Observe(scheduler.RunStarted{Run: run(2)})
	requireSeries(t, m, `
# HELP solotick_run_retries_total Attempts that failed and were followed by another.
# TYPE solotick_run_retries_total counter
solotick_run_retries_total{job="a"} 1
# HELP solotick_takeovers_total Runs of ticks that another holder had begun and not settled.
# TYPE solotick_takeovers_total counter
solotick_takeovers_total{job="a"} 1
`, "solotick_takeovers_total", "solotick_run_retries_total")
}

func TestDurationsAreInTheirBuckets(t *testing.T) {
	m := metrics.New(metrics.WithJobHistograms())
	m.Observe(scheduler.RunStarted{Run: run(1), Lag: 7 * time.Millisecond})
	m.Observe(scheduler.RunStarted{Run: run(1), Lag: -time.Millisecond}) // the estimate of fleet time was a bit off
	m.Observe(scheduler.RunSettled{Run: run(1), Outcome: wire.Succeeded, Took: 2 * time.Second, Held: 3 * time.Second})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: protocol.ErrFenced, Took: 2 * time.Hour, Held: 2 * time.Hour})
	text := gathered(t, m)
	for _, line := range []string{
		`solotick_tick_lag_seconds_bucket{job="a",le="0.005"} 1`,
		`solotick_tick_lag_seconds_bucket{job="a",le="0.01"} 2`,
		`solotick_tick_lag_seconds_sum{job="a"} 0.007`,
		`solotick_run_duration_seconds_bucket{job="a",le="1"} 0`,
		`solotick_run_duration_seconds_bucket{job="a",le="5"} 1`,
		`solotick_run_duration_seconds_bucket{job="a",le="3600"} 1`,
		`solotick_run_duration_seconds_sum{job="a"} 7202`,
		`solotick_lease_hold_seconds_sum 7203`,
		`solotick_lease_hold_seconds_count 2`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

func TestQueuedClaimHasNoWaitSample(t *testing.T) {
	m := metrics.New()
	m.Observe(scheduler.Claimed{Job: "a", Status: protocol.Busy, Took: 10 * time.Second})
	m.Observe(scheduler.Claimed{Job: "a", Status: protocol.Busy, Took: 20 * time.Second})
	m.Observe(scheduler.Claimed{Job: "a", Status: protocol.Granted, Took: 25 * time.Second})
	m.Observe(scheduler.Claimed{Job: "a", Status: protocol.Decided, Took: time.Second})
	requireSeries(t, m, `
# HELP solotick_claims_total Answers to this replica's claims, by result.
# TYPE solotick_claims_total counter
solotick_claims_total{job="a",result="busy"} 2
solotick_claims_total{job="a",result="decided"} 1
solotick_claims_total{job="a",result="granted"} 1
`, "solotick_claims_total")
	text := gathered(t, m)
	require.Contains(t, text, "solotick_lease_wait_seconds_count 2\n")
	require.Contains(t, text, "solotick_lease_wait_seconds_sum 26\n")
}

func TestMarginsFallIntoBucketsOfTheDefaultTTL(t *testing.T) {
	m := metrics.New()
	margins := []time.Duration{0, 200 * time.Millisecond, 4900 * time.Millisecond, 9500 * time.Millisecond, time.Hour}
	m.Observe(scheduler.Renewed{Renewal: lease.Renewal{Kept: len(margins), Margins: margins}})
	text := gathered(t, m)
	for bound, count := range map[string]int{"0.1": 1, "0.25": 2, "3": 2, "5": 3, "10": 4, "60": 4, "+Inf": 5} {
		require.Contains(t, text, fmt.Sprintf("solotick_lease_margin_seconds_bucket{le=%q} %d\n", bound, count))
	}
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "solotick_lease_margin_seconds" {
			require.NotEmpty(t, f.GetMetric()[0].GetHistogram().GetPositiveSpan(), "it is a native histogram, too")
			return
		}
	}
	require.Fail(t, "no series")
}

func TestRenewalsAndLossesAreCountedByTheirReasons(t *testing.T) {
	m := metrics.New()
	m.Observe(scheduler.Renewed{Renewal: lease.Renewal{Kept: 2, Margins: []time.Duration{10 * time.Second, 0}}})
	m.Observe(scheduler.Renewed{Renewal: lease.Renewal{Kept: 3, Fenced: 2, Replaced: 4, Failed: 3}})
	m.Observe(scheduler.Renewed{Renewal: lease.Renewal{Expired: []*lease.LostError{{}, {}}}})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: &lease.LostError{Reason: protocol.LostExpired}})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: &lease.LostError{Reason: protocol.LostFenced}})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: fmt.Errorf("settle: %w", protocol.ErrFenced)})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: jobs.ErrLeaseEnding})
	m.Observe(scheduler.RunLost{Run: run(1), Cause: context.DeadlineExceeded})
	requireSeries(t, m, `
# HELP solotick_lease_renewals_total Leases that were to be renewed, by result.
# TYPE solotick_lease_renewals_total counter
solotick_lease_renewals_total{result="cancelled"} 0
solotick_lease_renewals_total{result="expired"} 2
solotick_lease_renewals_total{result="failed"} 3
solotick_lease_renewals_total{result="fenced"} 2
solotick_lease_renewals_total{result="kept"} 5
solotick_lease_renewals_total{result="replaced"} 4
# HELP solotick_leases_lost_total Runs that ended without their holder deciding about the tick, by reason.
# TYPE solotick_leases_lost_total counter
solotick_leases_lost_total{reason="expired"} 2
solotick_leases_lost_total{reason="fenced"} 2
solotick_leases_lost_total{reason="unsettled"} 1
`, "solotick_lease_renewals_total", "solotick_leases_lost_total")
}

func TestStoreIsUpFromItsFirstAnswer(t *testing.T) {
	m := metrics.New()
	want := func(up int) {
		t.Helper()
		require.Contains(t, gathered(t, m), fmt.Sprintf("solotick_store_up %d\n", up))
	}
	want(0)
	m.Observe(scheduler.StoreChanged{Up: true})
	want(1)
	m.Observe(scheduler.RecordsLost{})
	want(1)
	m.Observe(scheduler.StoreChanged{})
	want(0)
	require.Contains(t, gathered(t, m), "solotick_store_forgotten_total 1\n")
}

func TestTheFleetIsAsItWasSeenLast(t *testing.T) {
	m := metrics.New()
	require.NotContains(t, gathered(t, m), "solotick_replicas", "before the first look")
	m.Observe(scheduler.FleetSeen{Replicas: 3, Unserved: []string{"a", "b"}, Differ: []string{"c"}})
	m.Observe(scheduler.FleetSeen{Replicas: 2, Differ: []string{"c", "d", "e"}})
	requireSeries(t, m, `
# HELP solotick_jobs_differing Jobs of this replica's configuration that other replicas define differently.
# TYPE solotick_jobs_differing gauge
solotick_jobs_differing 3
# HELP solotick_jobs_unserved Jobs of this replica's configuration that no live replica serves.
# TYPE solotick_jobs_unserved gauge
solotick_jobs_unserved 0
# HELP solotick_replicas Replicas of the fleet that live, this one included.
# TYPE solotick_replicas gauge
solotick_replicas 2
`, "solotick_replicas", "solotick_jobs_unserved", "solotick_jobs_differing")
}

func TestReloadsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where time begins at midnight of 1 January 2000
		m := metrics.New()
		text := gathered(t, m)
		for _, result := range []string{"applied", "unchanged", "refused"} {
			require.Contains(t, text, `solotick_config_reloads_total{result="`+result+`"} 0`)
		}
		require.NotContains(t, text, "config_last_reload")

		m.CountReload(false, errors.New("no"))
		require.Contains(t, gathered(t, m), "solotick_config_last_reload_successful 0\n")
		require.NotContains(t, gathered(t, m), "config_last_reload_timestamp")

		m.Observe(scheduler.ClockSampled{Offset: 2500 * time.Millisecond})
		m.CountReload(true, nil)
		require.Contains(t, gathered(t, m), "solotick_config_last_reload_successful 1\n")
		require.Contains(t, gathered(t, m), "solotick_config_last_reload_timestamp_seconds 9.466848025e+08\n")
		time.Sleep(time.Second)
		m.CountReload(false, nil)
		m.CountReload(false, errors.New("no"))
		text = gathered(t, m)
		require.Contains(t, text, "solotick_config_last_reload_successful 0\n")
		require.Contains(t, text, "solotick_config_last_reload_timestamp_seconds 9.466848035e+08\n", "the last good one")
		require.Contains(t, text, `solotick_config_reloads_total{result="refused"} 2`)
	})
}

func TestStepsOfTheStoresClockAreCounted(t *testing.T) {
	m := metrics.New()
	require.InDelta(t, 1, value(t, m, "solotick_clock_trusted"), 0)
	m.Observe(scheduler.ClockChanged{By: time.Hour, Start: true})
	require.InDelta(t, 0, value(t, m, "solotick_clock_trusted"), 0)
	require.Contains(t, gathered(t, m), "solotick_clock_steps_total 0\n", "it only began with a clock that disagrees")
	m.Observe(scheduler.ClockChanged{Trusted: true})
	m.Observe(scheduler.ClockChanged{By: -time.Hour})
	require.InDelta(t, 0, value(t, m, "solotick_clock_trusted"), 0)
	require.Contains(t, gathered(t, m), "solotick_clock_steps_total 1\n")
	m.Observe(scheduler.ClockChanged{Trusted: true, By: -time.Hour})
	require.InDelta(t, 1, value(t, m, "solotick_clock_trusted"), 0)
}
