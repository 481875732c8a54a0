package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

func TestPendingFactsAreBounded(t *testing.T) {
	f := newFacts(nil)
	for range 2 * mostPending {
		f.add("job", fleet.Fact{Kind: wire.FactAway})
	}
	require.Len(t, f.pending, mostPending)
}
