package quorum_test

import (
	"testing"
	"time"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/quorum"
)

func TestDriver(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store {
		return quorum.Values(openFake(t, newFakeNodes(3), quorum.WithTTL(time.Hour)))
	})
}

func TestDriverWithOneNodeGone(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Store {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Hour))
		if _, _, err := s.Time(t.Context()); err != nil {
			t.Fatal(err)
		}
		list[1].set(true)
		return quorum.Values(s)
	})
}

func TestDriverOnRedis(t *testing.T) {
	servers := startServers(t, 3)
	drivertest.Run(t, func(t *testing.T) driver.Store {
		for _, srv := range servers {
			srv.Flush()
		}
		return quorum.Values(openRedis(t, servers, quorum.WithTTL(time.Hour)))
	})
}
