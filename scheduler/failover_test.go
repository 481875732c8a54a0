package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// TestFailoverThatLosesTheLastWritesDoublesNothing has the store go back in time: replicas that
// know better write their knowledge back.
func TestFailoverThatLosesTheLastWritesDoublesNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.store.standBy()
		f.job("instant", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.job("long", "@every 10s", takes(6*time.Second))
		f.startMany(3)
		f.sleepTo(29500 * time.Millisecond)
		f.store.lag() // the grants of 30 s and what follows is lost
		f.sleepTo(32500 * time.Millisecond)
		f.store.failOver()
		f.sleepTo(33500 * time.Millisecond)
		f.start("d") // it knows what the store says, and nothing else
		f.sleepTo(60*time.Second - 1)
		require.Equal(t, "10s, 20s, 30s, 40s, 50s", f.story("long"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 59}, f.fates("instant"))
		for _, a := range f.runs.of("") {
			require.Equal(t, 1, a.Attempt)
			require.Equal(t, a.Tick, a.start.UTC())
		}
	})
}
