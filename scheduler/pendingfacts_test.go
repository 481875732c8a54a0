package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease/memlease"
)

func TestPendingFactsAreBounded(t *testing.T) {
	store, err := memlease.New("test")
	require.NoError(t, err)
	f := newFacts(store)
	for range 2 * mostPending {
		f.add("job", fleet.Fact{Kind: wire.FactAway})
	}
	require.Len(t, f.pending, mostPending)
}
