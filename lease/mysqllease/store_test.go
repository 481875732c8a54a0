package mysqllease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/mysqllease"
)

func TestTablesKeepTheContract(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, database(t)).Values() })
}

// site is a server of one case at a time.
type site struct {
	*mysqllease.Store
	server *dbtest.Server
	url    string
	ahead  time.Duration
}

func TestStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	const atOnce = 2
	free := make(chan *site, atOnce)
	for range atOnce {
		server := own(t, dbtest.MariaDBNoSync)
		url := databaseOn(t, server)
		free <- &site{Store: open(t, url), server: server, url: url}
	}
	take := func(t *testing.T) lease.Store {
		s := <-free
		t.Cleanup(func() { free <- s })
		return s
	}
	leasetest.Run(t, take,
		leasetest.Within(func(t *testing.T, f func(*testing.T)) { t.Parallel(); f(t) }),
		leasetest.WithForget(func(t *testing.T, s lease.Store) { empty(t, s.(*site).server, s.(*site).url) }),
		leasetest.WithClockStep(func(t *testing.T, s lease.Store, d time.Duration) {
			s.(*site).ahead += d
			require.NoError(t, s.(*site).server.SetClock(s.(*site).ahead))
		}))
}
