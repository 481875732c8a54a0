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
		f.job("job", "@every 1h", takes(0))
		f.startMany(3)
		f.sleepTo(10 * time.Second)
		f.pause("job")
		f.stopAll()
		f.startMany(3) // which know of the pause
		f.sleepTo(20 * time.Second)
		f.resume("job")
		f.sleepTo(10 * time.Minute)
		f.store.Forget()
		f.sleepTo(11 * time.Minute)
		require.Nil(t, f.inspect("job").Paused)
		f.sleepTo(time.Hour + time.Minute)
		require.Equal(t, "1h0m0s", f.story("job"))
	})
}
