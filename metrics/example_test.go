package metrics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/metrics"
)

func ExampleNewLocks() {
	m, registry := metrics.NewLocks(), prometheus.NewRegistry() // a service has prometheus.DefaultRegisterer
	registry.MustRegister(m)
	locks := lock.New(new(memlease.Store), lock.WithSyncObserver(m.Observe))
	defer locks.Close()

	hold, err := locks.Mutex("import").Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := hold.Release(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(testutil.GatherAndCount(registry, "solotick_lock_acquisitions_total"))
	// Output: 1 <nil>
}
