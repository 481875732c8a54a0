package memlease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/memlease"
)

func TestStore(t *testing.T) {
	leasetest.Run(t, func(*testing.T) protocol.Store { return new(memlease.Store) },
		leasetest.Within(synctest.Test),
		leasetest.WithForget(func(_ *testing.T, s protocol.Store) { s.(*memlease.Store).Forget() }),
		leasetest.WithClockStep(func(_ *testing.T, s protocol.Store, d time.Duration) { s.(*memlease.Store).Step(d) }))
}

func TestNamespaceIsThatOfNew(t *testing.T) {
	s, err := memlease.New("billing")
	require.NoError(t, err)
	require.Equal(t, "billing", s.Namespace())
	require.Equal(t, protocol.DefaultNamespace, new(memlease.Store).Namespace())

	_, err = memlease.New("a:b")
	require.ErrorContains(t, err, `memlease: namespace "a:b" must start with`)
}
