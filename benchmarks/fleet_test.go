package benchmarks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// fleetRow is a fleet whose jobs all come due at the same instants.
type fleetRow struct {
	replicas, jobs int
	every          time.Duration // from one instant to the next; 0 measures a fleet of which nothing is due
}

func (r fleetRow) name() string {
	if r.every == 0 {
		return fmt.Sprintf("idle-%dx%d", r.replicas, r.jobs)
	}
	return fmt.Sprintf("%dx%d", r.replicas, r.jobs)
}

var fleetRows = []fleetRow{
	{1, 1_000, 10 * time.Second}, {5, 1_000, 10 * time.Second}, {20, 1_000, 10 * time.Second}, {50, 1_000, 10 * time.Second},
	{5, 10_000, 20 * time.Second}, {20, 10_000, 20 * time.Second}, {50, 10_000, 30 * time.Second},
	{50, 1_000, 0}, {50, 10_000, 0},
}

// BenchmarkFleet runs fleets of schedulers over a real Redis, all replicas in this process, each
// with a store and a client of its own. Their handlers return at once. Each row measures two
// instants at which every job is due, once, whatever -benchtime says. A fleet that does not run all
// of its ticks is measured until the next instant, so each row ends.
//
// Counting for an instant begins half a second before it, and ends when every tick is settled, but
// not before 3 s after it, so that replicas which look again are counted, and heartbeats in part.
// Of these windows the row reports, for each tick that ran: scripts that Redis ran, commands that
// the clients sent, bytes in and out of Redis, and processor time of Redis (redis-us) and of this
// process (client-us). The other units: start lateness (p50-ms, p99-ms), until the last tick was
// settled (done-ms, absent when that did not happen), runs of the least and the most busy replica,
// leases lost, ticks missed, and double runs of a tick, of which a lost lease is the one legitimate
// cause. The last two must be 0, or the benchmark fails. ready-s is until each replica had a record
// of every job; those that had not when the first instant came are unready. heap-B/job is memory
// for each job on each replica; the jobs themselves, which the replicas share here, are
// registry-B/job.
func BenchmarkFleet(b *testing.B) {
	var faults []string
	for _, row := range fleetRows {
		b.Run(row.name(), func(b *testing.B) {
			once(b, func() map[string]float64 {
				f := startFleet(b, row)
				defer f.stop()
				if row.every == 0 {
					return f.measureIdle(b)
				}
				metrics := f.measureInstants(b)
				if missed, double := metrics["missed"], metrics["double"]; missed+double > 0 {
					faults = append(faults, fmt.Sprintf("%s: %v ticks missed, %v double runs", row.name(), missed, double))
				}
				return metrics
			})
		})
	}
	if len(faults) > 0 { // not where it is measured: a benchmark that fails has no figures
		b.Error(strings.Join(faults, "\n"))
	}
}

const (
	fleetInstants = 2
	fleetBefore   = 500 * time.Millisecond // an instant, its window begins
	fleetAfter    = 3 * time.Second        // an instant, its window ends at the earliest
	fleetSettle   = 6 * time.Second        // from ready to measured, for the replicas to see one another's heartbeats
	fleetLead     = 100 * time.Microsecond // of each job on each replica, for the fleet to get ready
	fleetReady    = 3 * time.Minute        // a fleet of which nothing is due is measured by then as it is
	idleSettle    = 25 * time.Second       // the same of a fleet that is idle: until all trust the store's clock, and have said so
	idleMeasure   = 20 * time.Second
)

// measureInstants measures each instant until all is done, or the next one comes.
func (f *fleetUnderTest) measureInstants(b *testing.B) map[string]float64 {
	var load redisLoad
	var sent, runs int64
	var ours, done time.Duration
	for i := range fleetInstants {
		instant := f.first.Add(time.Duration(i) * f.row.every)
		time.Sleep(time.Until(instant.Add(-fleetBefore)))
		before, beforeSent, beforeRuns, beforeOurs := f.gauge.read(b), f.wire.sent.Load(), f.runs(), cpuTime()
		ctx, cancel := context.WithDeadline(context.Background(), instant.Add(f.row.every-2*fleetBefore))
		took, ok := f.awaitSettled(ctx, i)
		if ok {
			time.Sleep(time.Until(instant.Add(fleetAfter)))
			done = max(done, took)
		} else {
			done = -1
		}
		cancel()
		ours += cpuTime() - beforeOurs
		load = load.plus(f.gauge.read(b).minus(before))
		sent, runs = sent+f.wire.sent.Load()-beforeSent, runs+f.runs()-beforeRuns
	}
	m := f.metrics()
	if done > 0 {
		m["done-ms"] = milliseconds(done)
	}
	b.Logf("redis, of %s: %s", load.cpu, load.dearest())
	n := float64(max(runs, 1))
	m["scripts/tick"], m["commands/tick"], m["bytes/tick"] = load.scripts/n, float64(sent)/n, (load.in+load.out)/n
	m["redis-us/tick"], m["client-us/tick"] = microseconds(load.cpu)/n, microseconds(ours)/n
	return m
}

// measureIdle measures a fleet of which nothing is due, when it has settled.
func (f *fleetUnderTest) measureIdle(b *testing.B) map[string]float64 {
	time.Sleep(idleSettle)
	before, sent, ours, began := f.gauge.read(b), f.wire.sent.Load(), cpuTime(), time.Now()
	time.Sleep(idleMeasure)
	commands, load := float64(f.wire.sent.Load()-sent), f.gauge.read(b).minus(before)
	seconds := time.Since(began).Seconds()
	b.Logf("redis, of %s: %s", load.cpu, load.dearest())
	return map[string]float64{
		"commands/s/replica": commands / seconds / float64(f.row.replicas), "scripts/s": load.scripts / seconds,
		"bytes/s": (load.in + load.out) / seconds, "redis-us/s": microseconds(load.cpu) / seconds,
		"client-us/s": microseconds(cpuTime()-ours) / seconds, "ready-s": f.ready.Seconds(),
		"unready": float64(f.unready), "heap-B/job": f.heap, "registry-B/job": f.registry,
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
