package zklease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/zklease"
)

func TestValuesKeepTheContract(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, shared.Addr(), "").Values() })
}

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	admin := connect(t, shared.Addr())
	leasetest.Run(t, func(t *testing.T) lease.Store { return open(t, shared.Addr(), "") },
		leasetest.Within(func(t *testing.T, run func(*testing.T)) {
			t.Parallel()
			run(t)
		}),
		leasetest.WithTTL(50*time.Millisecond),
		leasetest.WithForget(func(t *testing.T, s lease.Store) { require.NoError(t, removeAll(admin, s.(*zklease.Store).Path())) }),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { s.(*zklease.Store).Step(d) }))
}
