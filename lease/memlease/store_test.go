package memlease_test

import (
	"testing"
	"testing/synctest"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/memlease"
)

func TestStore(t *testing.T) {
	leasetest.Run(t, func(*testing.T) lease.Store { return new(memlease.Store) },
		leasetest.Within(synctest.Test),
		leasetest.WithForget(func(_ *testing.T, s lease.Store) { s.(*memlease.Store).Forget() }))
}
