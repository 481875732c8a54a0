package stores

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/benchtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/scheduler"
)

// BenchmarkFleets runs a fleet of 20 replicas and 1,000 jobs on each store, all replicas in this
// process, each with a store and a client of its own. It measures two instants at which every job is
// due, once, whatever -benchtime says: see benchtest. requests/tick are what the server counts:
// scripts of Redis, transactions of PostgreSQL, statements of MariaDB, messages to etcd, NATS and
// ZooKeeper. It fails where ticks are missed, as on a machine that is too busy for the store, and
// where more ran twice than leases were lost.
func BenchmarkFleets(b *testing.B) {
	row := benchtest.Row{Replicas: 20, Jobs: 1_000, Every: 20 * time.Second, Lead: 40 * time.Second}
	var faults []string
	for _, k := range kits {
		b.Run(k.name, func(b *testing.B) {
			benchtest.Once(b, func() map[string]float64 {
				s := k.start(b)
				var gauge benchtest.Gauge
				if s.requests != nil {
					gauge = func() map[string]float64 { return map[string]float64{"requests": s.requests()} }
				}
				var options []scheduler.Option
				if k.name == redisQuorum.name {
					options = []scheduler.Option{scheduler.WithTTL(longest)}
				}
				replicas := opened(b, k, s, row.Replicas)
				f := benchtest.StartFleet(b, row, gauge, func() (protocol.Store, func()) {
					store := replicas[0]
					replicas = replicas[1:]
					return store, func() {}
				}, options...)
				defer f.Stop()
				metrics := f.MeasureInstants(b)
				if missed, double, lost := metrics["missed"], metrics["double"], metrics["lost"]; missed > 0 || double > lost {
					faults = append(faults, fmt.Sprintf("%s: %v ticks missed, %v double runs, %v leases lost", k.name, missed, double, lost))
				}
				return metrics
			})
		})
	}
	if len(faults) > 0 { // not where it is measured: a benchmark that fails has no figures
		b.Error(strings.Join(faults, "\n"))
	}
}
