package natslease_test

import (
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
	s, err := natslease.New(nc, "fleet", append([]natslease.Option{natslease.WithTimeout(20 * time.Second)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestBucketKeepsTheContract(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	drivertest.Run(t, func(t *testing.T) driver.Store {
		return open(t, srv.Connect(t), natslease.WithBucket(bucket())).Values()
	})
}

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	s := open(t, nc)
	leasetest.Run(t, func(*testing.T) lease.Store { return s },
		leasetest.WithForget(func(t *testing.T, _ lease.Store) { purge(t, nc) }),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { s.(*natslease.Store).Step(d) }))
}

// purge empties the default bucket.
func purge(t testing.TB, nc *nats.Conn) {
	t.Helper()
	answer, err := nc.Request("$JS.API.STREAM.PURGE.KV_solotick", nil, 10*time.Second)
	require.NoError(t, err)
	require.NotContains(t, string(answer.Data), `"error"`)
}
