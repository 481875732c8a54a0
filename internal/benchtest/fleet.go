package benchtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// Row is a fleet whose jobs all come due at the same two instants.
type Row struct {
	Replicas, Jobs int
	Every          time.Duration // from one instant to the next, less than a minute; 0 for a fleet of which nothing is due
	Lead           time.Duration // from the start to the first instant; 0 for 12 s and a tenth of a millisecond for each job of a replica
}

// Name is such as 20x1000.
func (r Row) Name() string {
	if r.Every == 0 {
		return fmt.Sprintf("idle-%dx%d", r.Replicas, r.Jobs)
	}
	return fmt.Sprintf("%dx%d", r.Replicas, r.Jobs)
}

// Gauge reads what a server has done so far, by unit: counters that rise.
type Gauge func() map[string]float64

// Fleet is a fleet of this process, and what its handlers and observers count. The handlers return
// at once.
type Fleet struct {
	row   Row
	first time.Time // the first instant at which every job is due
	gauge Gauge

	schedulers []*scheduler.Scheduler
	close      []func()
	ready      time.Duration // until every replica was ready, or the first instant came
	unready    int           // replicas that were not ready by then
	heap       float64       // bytes for each job on each replica
	registry   float64       // bytes for each job, that the replicas share

	replicas map[string]*atomic.Int64 // runs, by the replica's id
	instants [instants]instant
	double   atomic.Int64 // runs of a tick that had run
	lost     atomic.Int64 // leases
}

// instant is one at which every job is due.
type instant struct {
	late    []atomic.Int64 // how late the first run of each job started, in nanoseconds; 0 when none has
	settled atomic.Int64
	done    chan time.Duration // gets how long after the instant the last tick was settled
}

// instantOf returns that of a tick.
func (f *Fleet) instantOf(tick time.Time) *instant {
	if tick.Before(f.first.Add(f.row.Every)) {
		return &f.instants[0]
	}
	return &f.instants[1]
}

// StartFleet returns when every replica has a record of every job, or just before the first instant.
// The first replica makes them; the others start when it is ready.
// Each replica has a store that open returns, with what is to be called when the replica has ended.
// End the fleet with Stop.
func StartFleet(b *testing.B, row Row, gauge Gauge, open func() (store protocol.Store, done func()), options ...scheduler.Option) *Fleet {
	b.Helper()
	f := &Fleet{row: row, gauge: gauge, replicas: make(map[string]*atomic.Int64)}
	for i := range f.instants {
		f.instants[i].late, f.instants[i].done = make([]atomic.Int64, row.Jobs), make(chan time.Duration, 1)
	}
	lead := cmp.Or(row.Lead, 2*settle+time.Duration(row.Replicas*row.Jobs)*leadOfJob)
	if row.Every == 0 {
		lead = 12 * time.Hour
	}
	f.first = time.Now().Add(lead).Truncate(time.Second)
	for f.first.Second() >= 60-(instants-1)*int(row.Every.Seconds()) {
		f.first = f.first.Add(time.Second)
	}
	before := Heap()
	registry := f.newRegistry(b)
	between := Heap()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), min(readyBound, time.Until(f.first)-time.Second))
	defer cancel()
	for i := range row.Replicas {
		store, done := open()
		f.close = append(f.close, done)
		f.start(b, store, fmt.Sprintf("replica-%d", i), registry, options)
		if i == 0 {
			_ = f.schedulers[0].WaitReady(ctx) // so that not all make the same records
		}
	}
	for _, s := range f.schedulers {
		if s.WaitReady(ctx) != nil {
			f.unready++
		}
	}
	f.ready = time.Since(began)
	after := Heap()
	f.registry = float64(between-before) / float64(row.Jobs)
	f.heap = float64(after-between) / float64(row.Jobs*row.Replicas)
	return f
}

// newRegistry makes jobs that are due at the instants, which are of one minute, and at no other
// time of the day.
func (f *Fleet) newRegistry(b *testing.B) *jobs.Registry {
	registry := new(jobs.Registry)
	at := f.first.UTC()
	seconds := []string{strconv.Itoa(at.Second())}
	if f.row.Every > 0 {
		seconds = append(seconds, strconv.Itoa(at.Add(f.row.Every).Second()))
	}
	schedule := fmt.Sprintf("%s %d %d * * *", strings.Join(seconds, ","), at.Minute(), at.Hour())
	for i := range f.row.Jobs {
		job, err := jobs.New(fmt.Sprintf("job-%d", i), schedule, func(_ context.Context, run jobs.Run) error {
			late := time.Since(run.Tick)
			f.replicas[run.Replica].Add(1)
			if !f.instantOf(run.Tick).late[i].CompareAndSwap(0, int64(late)) {
				f.double.Add(1)
			}
			return nil
		})
		require.NoError(b, err)
		require.NoError(b, registry.Add(job))
	}
	return registry
}

func (f *Fleet) start(b *testing.B, store protocol.Store, replica string, registry *jobs.Registry, options []scheduler.Option) {
	s, err := scheduler.New(store, registry, append([]scheduler.Option{
		scheduler.WithReplica(replica), scheduler.WithSyncObserver(f.observe), scheduler.WithObserver(func(scheduler.Event) {}), // or failures are logged
	}, options...)...)
	require.NoError(b, err)
	f.replicas[replica] = new(atomic.Int64)
	f.schedulers = append(f.schedulers, s)
	require.NoError(b, s.Start())
}

func (f *Fleet) observe(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.RunSettled:
		if at := f.instantOf(e.Run.Tick); at.settled.Add(1) == int64(f.row.Jobs) {
			at.done <- time.Since(e.Run.Tick)
		}
	case scheduler.RunLost:
		f.lost.Add(1)
	}
}

// awaitSettled waits until every tick of an instant is settled, and returns how long after the
// instant that was.
func (f *Fleet) awaitSettled(ctx context.Context, i int) (took time.Duration, ok bool) {
	select {
	case took = <-f.instants[i].done:
		return took, true
	case <-ctx.Done():
		return 0, false
	}
}

func (f *Fleet) runs() (total int64) {
	for _, runs := range f.replicas {
		total += runs.Load()
	}
	return total
}

// metrics are those of the ticks that ran, and of those that did not.
func (f *Fleet) metrics() map[string]float64 {
	var late []int64
	missed := 0
	for i := range f.instants {
		for j := range f.instants[i].late {
			if ns := f.instants[i].late[j].Load(); ns != 0 {
				late = append(late, ns)
			} else {
				missed++
			}
		}
	}
	m := map[string]float64{
		"missed": float64(missed), "double": float64(f.double.Load()), "lost": float64(f.lost.Load()),
		"ready-s": f.ready.Seconds(), "unready": float64(f.unready), "heap-B/job": f.heap, "registry-B/job": f.registry,
	}
	if slices.Sort(late); len(late) > 0 {
		m["p50-ms"] = Milliseconds(time.Duration(late[len(late)/2]))
		m["p99-ms"] = Milliseconds(time.Duration(late[len(late)*99/100]))
	}
	fewest, most, total := f.spread()
	m["fewest-runs"], m["most-runs"] = fewest, most
	m["most/mean"] = most * float64(f.row.Replicas) / max(total, 1)
	return m
}

// spread returns the runs of the least and the most busy replica, and of all.
func (f *Fleet) spread() (fewest, most, total float64) {
	counts := make([]int64, 0, len(f.replicas))
	for _, runs := range f.replicas {
		counts = append(counts, runs.Load())
	}
	return float64(slices.Min(counts)), float64(slices.Max(counts)), float64(f.runs())
}

// Stop ends the replicas. One that does not end within a moment is left behind, without its
// connections.
func (f *Fleet) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var stopping sync.WaitGroup
	for i, s := range f.schedulers {
		stopping.Go(func() {
			_ = s.Shutdown(ctx)
			f.close[i]()
		})
	}
	stopping.Wait()
}
