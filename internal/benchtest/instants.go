package benchtest

import (
	"context"
	"maps"
	"testing"
	"time"
)

const (
	instants    = 2
	before      = 500 * time.Millisecond // an instant, its window begins
	after       = 3 * time.Second        // an instant, its window ends at the earliest
	settle      = 6 * time.Second        // from ready to measured, for the replicas to see one another's heartbeats
	leadOfJob   = 100 * time.Microsecond // of each job on each replica, for the fleet to get ready
	readyBound  = 3 * time.Minute        // a fleet of which nothing is due is measured by then as it is
	idleSettle  = 25 * time.Second       // the same of a fleet that is idle: until all trust the store's clock, and have said so
	idleMeasure = 20 * time.Second
)

// MeasureInstants measures each instant until all is done, or the next one comes.
//
// Counting for an instant begins half a second before it, and ends when every tick is settled, but
// not before 3 s after it, so that replicas which look again are counted, and heartbeats in part. Of
// these windows it returns what the gauge counts for each tick that ran, and the processor time of
// this process for it (client-us/tick). The other units: start lateness (p50-ms, p99-ms), until the
// last tick was settled (done-ms, absent when that did not happen), runs of the least and the most
// busy replica, leases lost, ticks missed, and double runs of a tick, of which a lost lease is the
// one legitimate cause. ready-s is until each replica had a record of every job; those that had not
// when the first instant came are unready. heap-B/job is memory for each job on each replica; the
// jobs themselves, which the replicas share here, are registry-B/job.
func (f *Fleet) MeasureInstants(b *testing.B) map[string]float64 {
	b.Helper()
	load := map[string]float64{}
	var runs int64
	var done time.Duration
	for i := range instants {
		instant := f.first.Add(time.Duration(i) * f.row.Every)
		time.Sleep(time.Until(instant.Add(-before)))
		was, wasRuns := f.read(), f.runs()
		ctx, cancel := context.WithDeadline(context.Background(), instant.Add(f.row.Every-2*before))
		took, ok := f.awaitSettled(ctx, i)
		if ok {
			time.Sleep(time.Until(instant.Add(after)))
			done = max(done, took)
		} else {
			done = f.row.Every
		}
		cancel()
		for unit, n := range f.read() {
			load[unit] += n - was[unit]
		}
		runs += f.runs() - wasRuns
	}
	m := f.metrics()
	if done < f.row.Every {
		m["done-ms"] = Milliseconds(done)
	}
	for unit, n := range load {
		m[unit+"/tick"] = n / float64(max(runs, 1))
	}
	return m
}

// MeasureIdle measures a fleet of which nothing is due, when it has settled: what the gauge counts
// and the processor time of this process in a second.
func (f *Fleet) MeasureIdle() map[string]float64 {
	time.Sleep(idleSettle)
	was, began := f.read(), time.Now()
	time.Sleep(idleMeasure)
	m := map[string]float64{"ready-s": f.ready.Seconds(), "unready": float64(f.unready), "heap-B/job": f.heap, "registry-B/job": f.registry}
	now, seconds := f.read(), time.Since(began).Seconds()
	for unit, n := range now {
		m[unit+"/s"] = (n - was[unit]) / seconds
	}
	return m
}

// read is the gauge with the processor time of this process.
func (f *Fleet) read() map[string]float64 {
	now := map[string]float64{"client-us": float64(ProcessorTime().Microseconds())}
	if f.gauge != nil {
		maps.Copy(now, f.gauge())
	}
	return now
}

// Milliseconds is a duration as a metric.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
