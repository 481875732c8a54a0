package mysqllease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/leasetest"
)

func TestTablesKeepTheContract(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store { return open(t, database(t)).Values() })
}

func TestStoreKeepsTheContract(t *testing.T) {
	server, ahead := own(t), time.Duration(0)
	url := databaseOn(t, server)
	s := open(t, url)
	leasetest.Run(t, func(*testing.T) lease.Store { return s },
		leasetest.WithForget(func(t *testing.T, _ lease.Store) { empty(t, server, url) }),
		leasetest.WithClockStep(func(t *testing.T, _ lease.Store, d time.Duration) {
			ahead += d
			require.NoError(t, server.SetClock(ahead))
		}))
}
