package mistakes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/knownfail"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/protocol"
)

// The rate is the fleet's: whoever triggers a job without knowing its rate is limited as well.
func TestTheRateOfAJobHoldsForEveryCaller(t *testing.T) {
	store := new(memlease.Store)
	f, err := fleet.New(store)
	require.NoError(t, err)
	_, err = store.Sync(t.Context(), []protocol.Sync{{Name: "bill"}})
	require.NoError(t, err)
	limited := jobs.Spec{Name: "bill", Rate: jobs.Rate{Count: 1, Per: time.Hour}, Burst: 1, Overlap: jobs.Allow}
	accepted := func(spec jobs.Spec) (n int) {
		for range 10 {
			a, err := f.Trigger(t.Context(), spec, fleet.TriggerOptions{By: "test"})
			require.NoError(t, err)
			if a.Accepted() {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, accepted(limited))
	knownfail.Run(t, "rate, burst and overlap come with the trigger instead of being kept in the job's record", func(k *knownfail.T) {
		require.Zero(k, accepted(jobs.Spec{Name: "bill", Overlap: jobs.Allow}))
	})
}
