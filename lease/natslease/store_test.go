package natslease_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/natstest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/natslease"
)

// open makes a store over a connection.
func open(t testing.TB, nc *nats.Conn, opts ...natslease.Option) *natslease.Store {
	t.Helper()
	return openIn(t, nc, "fleet", opts...)
}

func openIn(t testing.TB, nc *nats.Conn, namespace string, opts ...natslease.Option) *natslease.Store {
	t.Helper()
	s, err := natslease.New(nc, namespace, append([]natslease.Option{natslease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestBucketKeepsTheContract(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	drivertest.Run(t, func(t *testing.T) driver.Store {
		return open(t, connect(t, srv.URL()), natslease.WithBucket(bucket())).Values()
	})
}

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := connect(t, srv.URL())
	var namespaces atomic.Int64
	leasetest.Run(t, func(t *testing.T) lease.Store { return openIn(t, nc, fmt.Sprint("fleet-", namespaces.Add(1))) },
		leasetest.Within(func(t *testing.T, f func(*testing.T)) { t.Parallel(); f(t) }),
		leasetest.WithTTL(50*time.Millisecond),
		leasetest.WithForget(func(t *testing.T, s lease.Store) {
			stream(t, nc, "STREAM.PURGE.KV_solotick", `{"filter": "$KV.solotick.`+s.(*natslease.Store).Namespace()+`.>"}`)
		}),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { s.(*natslease.Store).Step(d) }))
}
