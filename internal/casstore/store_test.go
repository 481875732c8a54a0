package casstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
)

// open makes a store of its own over a medium.
func open(t testing.TB, m casstore.Medium) *casstore.Store {
	t.Helper()
	s, err := casstore.New("casstore", m, "fleet", 20*time.Second, func(error) (string, bool) { return "", false })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestValuesKeepTheContract(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, newMemory()).Values() })
}

func TestStoreKeepsTheContract(t *testing.T) {
	media := map[lease.Store]*memory{}
	leasetest.Run(t, func(t *testing.T) lease.Store {
		m := newMemory()
		s := open(t, m)
		media[s] = m
		return s
	},
		leasetest.Within(synctest.Test),
		leasetest.WithForget(func(_ *testing.T, s lease.Store) { media[s].forget() }),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { media[s].step(d) }))
}
