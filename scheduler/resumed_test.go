package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPauseThatHasEndedIsNotBroughtBack by replicas that have not learned of its end when the store
// forgets: they learn of it with their next tick only, which may be a day away.
func TestPauseThatHasEndedIsNotBroughtBack(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 6m", takes(0))
		f.startMany(3)
		f.sleepTo(10 * time.Second)
		f.pause("job")
		f.stopAll()
		f.startMany(3) // which know of the pause
		f.sleepTo(20 * time.Second)
		f.resume("job")
		f.sleepTo(3 * time.Minute)
		f.store.Forget()
		f.sleepTo(4 * time.Minute)
		require.Nil(t, f.inspect("job").Paused)
		f.sleepTo(7 * time.Minute)
		require.Equal(t, "6m0s", f.story("job"))
	})
}
