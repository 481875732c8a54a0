package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/metrics"
)

// lockEvents has one of each type of event.
var lockEvents = map[string]lock.Event{
	"EventsDropped": lock.EventsDropped{Count: 2},
	"Waiting":       lock.Waiting{Name: "a.1", Holder: "other"},
	"ClaimFailed":   lock.ClaimFailed{Name: "a.1", Failures: 1, Err: protocol.ErrFenced},
	"Granted":       lock.Granted{Name: "a.1", Token: 7, Waited: time.Millisecond},
	"GaveUp":        lock.GaveUp{Name: "a.1", Waited: time.Second, Err: &lease.HeldError{}},
	"Renewed":       lock.Renewed{Name: "a.1", Token: 7, Remaining: 9 * time.Second},
	"Lost":          lock.Lost{Name: "a.1", Token: 7, Held: time.Second, Err: &lease.LostError{Reason: protocol.LostExpired}},
	"Released":      lock.Released{Name: "a.1", Token: 7, Held: time.Second},
}

func gatheredLocks(t *testing.T, m *metrics.Locks) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
	}
	return text.String()
}

func requireLockSeries(t *testing.T, m *metrics.Locks, lines ...string) {
	t.Helper()
	text := gatheredLocks(t, m)
	for _, line := range lines {
		require.Contains(t, text, "solotick_"+line+"\n")
	}
}

func TestEveryLockEventIsExported(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../lock/event.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var types []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "event" {
			types = append(types, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	require.NotEmpty(t, types)
	for _, name := range types {
		t.Run(name, func(t *testing.T) {
			event, ok := lockEvents[name]
			require.True(t, ok, "no example of this event: add it to lockEvents, and what it means to Observe")
			require.Equal(t, "lock."+name, fmt.Sprintf("%T", event))
			m := metrics.NewLocks()
			before := gatheredLocks(t, m)
			m.Observe(event)
			require.NotEqual(t, before, gatheredLocks(t, m))
		})
	}
}

func TestSeriesOfLocksAreThoseThatArePromised(t *testing.T) {
	m := metrics.NewLocks()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	require.NoError(t, registry.Register(metrics.New()), "beside those of a scheduler")
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	families, err := registry.Gather()
	require.NoError(t, err)

	got := map[string]string{}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "solotick_")
		if !strings.HasPrefix(name, "lock") {
			continue
		}
		var labels []string
		for _, pair := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		got[name] = strings.Join(labels, " ")
	}
	require.Equal(t, map[string]string{
		"lock_acquisitions_total": "lock", "lock_failures_total": "lock reason", "lock_waits_total": "lock",
		"lock_claim_errors_total": "lock", "lock_events_dropped_total": "",
		"lock_wait_seconds": "lock", "lock_hold_seconds": "lock", "locks_lost_total": "lock reason",
		"lock_takeovers_total": "lock", "lock_renewal_margin_seconds": "lock", "lock_release_failures_total": "lock reason",
	}, got)
}

func TestUnmappedLocksShareOneLabel(t *testing.T) {
	all := metrics.NewLocks()
	mapped := metrics.NewLocks(metrics.WithLockLabel(func(name string) string {
		kind, _, _ := strings.Cut(name, ".")
		return kind
	}))
	require.NotContains(t, gatheredLocks(t, mapped), "lock=", "no series before the first event")
	for i := range 1000 {
		for _, m := range []*metrics.Locks{all, mapped} {
			m.Observe(lock.Granted{Name: fmt.Sprintf("account.%d", i)})
			m.Observe(lock.Granted{Name: fmt.Sprintf("stock.%d", i)})
		}
	}
	require.NotContains(t, gatheredLocks(t, all), "account")
	requireLockSeries(t, all, `lock_acquisitions_total{lock=""} 2000`)
	requireLockSeries(t, mapped, `lock_acquisitions_total{lock="account"} 1000`, `lock_acquisitions_total{lock="stock"} 1000`,
		`lock_failures_total{lock="stock",reason="held"} 0`, `locks_lost_total{lock="stock",reason="max_hold"} 0`)
	require.NotContains(t, gatheredLocks(t, mapped), `lock=""`)
}

func TestFailuresOfLocksAreCountedByTheirReasons(t *testing.T) {
	m := metrics.NewLocks()
	held := &lease.HeldError{Name: "a", Holder: "other"}
	for err, times := range map[error]int{
		held:                    1,
		context.Canceled:        2,
		lock.ErrClosed:          4,
		errors.New("no answer"): 5,
		fmt.Errorf("gave up: %w (%w)", context.DeadlineExceeded, held): 3, // that it was held is not why
	} {
		for range times {
			m.Observe(lock.GaveUp{Name: "a", Err: err})
		}
	}
	requireLockSeries(t, m,
		`lock_failures_total{lock="",reason="held"} 1`,
		`lock_failures_total{lock="",reason="cancelled"} 2`,
		`lock_failures_total{lock="",reason="timeout"} 3`,
		`lock_failures_total{lock="",reason="closed"} 4`,
		`lock_failures_total{lock="",reason="error"} 5`,
		`lock_acquisitions_total{lock=""} 0`)
}

func TestEndsOfHoldsAreCountedByTheirReasons(t *testing.T) {
	m := metrics.NewLocks()
	m.Observe(lock.Lost{Name: "a", Held: 10 * time.Second, Err: &lease.LostError{Reason: protocol.LostExpired}})
	m.Observe(lock.Lost{Name: "a", Held: 20 * time.Second, Err: &lease.LostError{Reason: protocol.LostFenced}})
	m.Observe(lock.Lost{Name: "a", Held: 30 * time.Second, Err: &lease.LostError{Reason: protocol.LostMaxHold}})
	m.Observe(lock.Released{Name: "a", Held: 1 * time.Second})
	m.Observe(lock.Released{Name: "a", Held: 2 * time.Second, Err: fmt.Errorf("release: %w", protocol.ErrFenced)})
	m.Observe(lock.Released{Name: "a", Held: 3 * time.Second, Err: context.DeadlineExceeded})
	m.Observe(lock.Renewed{Name: "a", Remaining: -time.Second})
	requireLockSeries(t, m,
		`locks_lost_total{lock="",reason="expired"} 1`,
		`locks_lost_total{lock="",reason="fenced"} 1`,
		`locks_lost_total{lock="",reason="max_hold"} 1`,
		`lock_release_failures_total{lock="",reason="fenced"} 1`,
		`lock_release_failures_total{lock="",reason="error"} 1`,
		`lock_hold_seconds_sum{lock=""} 66`,
		`lock_hold_seconds_count{lock=""} 6`,
		`lock_renewal_margin_seconds_sum{lock=""} 0`)
}

func TestADayOfALockAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		m := metrics.NewLocks()
		locks := lock.New(store, lock.WithSyncObserver(m.Observe))
		defer locks.Close()
		ctx := t.Context()

		dead := protocol.LockClaim{Name: "a", Holder: "dead", Request: "1", TTL: 5 * time.Second, Permits: 1, Limit: 1}
		_, err := store.ClaimLock(ctx, dead) // and never again
		require.NoError(t, err)
		_, err = locks.Mutex("a").TryAcquire(ctx)
		require.ErrorIs(t, err, lease.ErrHeld)

		hold, err := locks.Mutex("a", lock.WithTTL(12*time.Second)).Acquire(ctx) // when what the dead one holds has run out
		require.NoError(t, err)
		_, err = locks.Mutex("a", lock.WithWaitTimeout(time.Second)).Acquire(ctx)
		require.ErrorIs(t, err, lease.ErrHeld)
		time.Sleep(time.Minute)
		require.NoError(t, hold.Release(ctx))

		short, err := locks.Mutex("a", lock.WithMaxHold(time.Second)).Acquire(ctx)
		require.NoError(t, err)
		<-short.Context().Done()
		synctest.Wait()
		require.NoError(t, short.Release(ctx))

		requireLockSeries(t, m,
			`lock_acquisitions_total{lock=""} 2`,
			`lock_waits_total{lock=""} 2`,
			`lock_takeovers_total{lock=""} 1`,
			`lock_failures_total{lock="",reason="held"} 2`,
			`lock_failures_total{lock="",reason="error"} 0`,
			`locks_lost_total{lock="",reason="max_hold"} 1`,
			`lock_wait_seconds_count{lock=""} 2`,
			`lock_wait_seconds_bucket{lock="",le="1"} 1`,
			`lock_wait_seconds_bucket{lock="",le="30"} 2`,
			`lock_hold_seconds_bucket{lock="",le="1"} 1`,
			`lock_hold_seconds_bucket{lock="",le="300"} 2`,
			`lock_renewal_margin_seconds_bucket{lock="",le="5"} 0`, // a third of the TTL had passed
			`lock_release_failures_total{lock="",reason="error"} 0`)
		require.Regexp(t, `solotick_lock_renewal_margin_seconds_count\{lock=""\} 1[0-9]\n`, gatheredLocks(t, m), "in a minute")
	})
}

func TestMetricsOfLocksAreSafeForConcurrentUse(t *testing.T) {
	m := metrics.NewLocks(metrics.WithLockLabel(func(name string) string { return name }))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				for _, e := range lockEvents {
					m.Observe(e)
				}
			}
		})
	}
	group.Go(func() {
		for range 20 {
			testutil.CollectAndCount(m)
		}
	})
	group.Wait()
	requireLockSeries(t, m, `lock_acquisitions_total{lock="a.1"} 200`, `lock_waits_total{lock="a.1"} 200`)
}
