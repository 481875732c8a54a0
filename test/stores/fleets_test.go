package stores

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
)

// BenchmarkFleets runs a fleet of 20 replicas and 1,000 jobs on each store, all replicas in this
// process, each with a store and a client of its own. It measures two instants at which every job is
// due, once, whatever -benchtime says: see benchtest. requests/tick are what the server counts:
// scripts of Redis, transactions of PostgreSQL, statements of MariaDB, messages to etcd, NATS and
// ZooKeeper. Double runs must be 0, or the benchmark fails. So do missed ticks, which a machine that
// is too busy for the store has.
func BenchmarkFleets(b *testing.B) {
	row := benchtest.Row{Replicas: 20, Jobs: 1_000, Every: 20 * time.Second, Lead: 25 * time.Second}
	var faults []string
	for _, k := range kits {
		b.Run(k.name, func(b *testing.B) {
			benchtest.Once(b, func() map[string]float64 {
				s := k.start(b)
				var gauge benchtest.Gauge
				if s.requests != nil {
					gauge = func() map[string]float64 { return map[string]float64{"requests": s.requests()} }
				}
				replicas := opened(b, k, s, row.Replicas)
				f := benchtest.StartFleet(b, row, gauge, func() (protocol.Store, func()) {
					store := replicas[0]
					replicas = replicas[1:]
					return store, func() {}
				})
				defer f.Stop()
				metrics := f.MeasureInstants(b)
				if missed, double := metrics["missed"], metrics["double"]; missed+double > 0 {
					faults = append(faults, fmt.Sprintf("%s: %v ticks missed, %v double runs", k.name, missed, double))
				}
				return metrics
			})
		})
	}
	if len(faults) > 0 { // not where it is measured: a benchmark that fails has no figures
		b.Error(strings.Join(faults, "\n"))
	}
}
