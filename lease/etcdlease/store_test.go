package etcdlease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/leasetest"
)

func TestValuesKeepTheContract(t *testing.T) {
	t.Parallel()
	config := configOf(server(t))
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, config).Values() })
}

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	config := configOf(server(t))
	name := prefix()
	s := open(t, config, etcdlease.WithPrefix(name))
	admin, err := clientv3.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	leasetest.Run(t, func(*testing.T) lease.Store { return s },
		leasetest.WithForget(func(t *testing.T, _ lease.Store) {
			_, err := admin.Delete(t.Context(), name+"/", clientv3.WithPrefix())
			require.NoError(t, err)
		}),
		leasetest.WithClockStep(func(_ *testing.T, s lease.Store, d time.Duration) { s.(*etcdlease.Store).Step(d) }))
}
