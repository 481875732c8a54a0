package benchmarks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

var fleetRows = []benchtest.Row{
	{Replicas: 1, Jobs: 1_000, Every: 10 * time.Second}, {Replicas: 5, Jobs: 1_000, Every: 10 * time.Second},
	{Replicas: 20, Jobs: 1_000, Every: 10 * time.Second}, {Replicas: 50, Jobs: 1_000, Every: 10 * time.Second},
	{Replicas: 200, Jobs: 1_000, Every: 30 * time.Second},
	{Replicas: 5, Jobs: 10_000, Every: 20 * time.Second}, {Replicas: 20, Jobs: 10_000, Every: 20 * time.Second},
	{Replicas: 50, Jobs: 10_000, Every: 30 * time.Second}, {Replicas: 50, Jobs: 1_000}, {Replicas: 50, Jobs: 10_000},
}

// BenchmarkFleet runs fleets of schedulers over a real Redis, all replicas in this process, each
// with a store and a client of its own. Each row measures two instants at which every job is due,
// once, whatever -benchtime says: see benchtest. A fleet that does not run all of its ticks is
// measured until the next instant, so each row ends.
//
// The row reports, for each tick that ran, scripts that Redis ran, commands that the clients sent,
// bytes in and out of Redis, and processor time of Redis (redis-us). Missed ticks and double runs
// must be 0, or the benchmark fails.
func BenchmarkFleet(b *testing.B) {
	var faults []string
	for _, row := range fleetRows {
		b.Run(row.Name(), func(b *testing.B) {
			benchtest.Once(b, func() map[string]float64 {
				server, sent := redistest.Start(b), new(wire)
				load := &fleetLoad{gauge: newRedisGauge(b, server), wire: sent}
				f := benchtest.StartFleet(b, row, func() map[string]float64 { return load.read(b) }, func() (protocol.Store, func()) {
					client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: sent.dial})
					store, err := redislease.New(client, "fleet")
					require.NoError(b, err)
					return store, func() { _, _ = store.Close(), client.Close() }
				})
				defer f.Stop()
				var metrics map[string]float64
				if row.Every == 0 {
					metrics = f.MeasureIdle()
					metrics["commands/s/replica"] = metrics["commands/s"] / float64(row.Replicas)
				} else {
					metrics = f.MeasureInstants(b)
				}
				b.Logf("redis, of %s: %s", load.during.cpu, load.during.dearest())
				if missed, double := metrics["missed"], metrics["double"]; missed+double > 0 {
					faults = append(faults, fmt.Sprintf("%s: %v ticks missed, %v double runs", row.Name(), missed, double))
				}
				return metrics
			})
		})
	}
	if len(faults) > 0 { // not where it is measured: a benchmark that fails has no figures
		b.Error(strings.Join(faults, "\n"))
	}
}

// fleetLoad is the load of a server during what is measured: from a first reading to a second, from a
// third to a fourth, and so on.
type fleetLoad struct {
	gauge  *redisGauge
	wire   *wire
	before *redisLoad
	during redisLoad
}

func (l *fleetLoad) read(b *testing.B) map[string]float64 {
	now := l.gauge.read(b)
	if l.before == nil {
		l.before = &now
	} else {
		l.during, l.before = l.during.plus(now.minus(*l.before)), nil
	}
	return map[string]float64{
		"scripts": now.scripts, "commands": float64(l.wire.sent.Load()), "bytes": now.in + now.out, "redis-us": microseconds(now.cpu),
	}
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
