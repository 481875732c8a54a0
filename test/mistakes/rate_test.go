package mistakes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/limits"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// The rate is the fleet's: it limits also a caller that triggers a job without knowing its rate.
func TestRateOfAJobHoldsForEveryCaller(t *testing.T) {
	store := new(memlease.Store)
	limited := jobs.Spec{Name: "bill", Rate: jobs.Rate{Count: 1, Per: time.Hour}, Burst: 1, Overlap: jobs.Allow}
	_, err := store.Sync(t.Context(), []protocol.Sync{{Name: "bill", Policy: wire.PolicyOf(limited)}}) // by a replica
	require.NoError(t, err)
	_, err = store.Sync(t.Context(), []protocol.Sync{{Name: "bill"}}) // by a program that does not know the definition
	require.NoError(t, err)
	f, err := fleet.New(store)
	require.NoError(t, err)
	accepted := 0
	for range 10 {
		a, err := f.Trigger(t.Context(), "bill", fleet.TriggerOptions{By: "test"})
		require.NoError(t, err)
		if a.Accepted() {
			accepted++
		}
	}
	require.Equal(t, 1, accepted)
	require.Equal(t, protocol.MaxHistory, limits.MaxHistory, "what a job may ask for, a store keeps")
	require.Equal(t, protocol.MinHistory, limits.MinHistory)
}
