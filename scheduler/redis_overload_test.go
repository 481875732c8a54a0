package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler"
)

// overloadEvents counts what the replicas have said about the load of the store, and about runs
// that were lost.
func (f *redisFleet) overloadEvents() (overloaded, keepUp, lost int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		switch e := e.(type) {
		case scheduler.StoreLoadChanged:
			if e.Overloaded {
				overloaded++
			} else {
				keepUp++
			}
		case scheduler.RunLost:
			lost++
		}
	}
	return overloaded, keepUp, lost
}

func TestSlowRedisDelaysTicksAndLosesNoLease(t *testing.T) {
	t.Parallel()
	f := newRedisFleet(t)
	const count = slowStore * 2 / 3
	for i := range count {
		f.job(fmt.Sprintf("job-%03d", i), "@every 1s", takes(0))
	}
	for i := range 4 {
		f.job(fmt.Sprintf("long-%d", i), "@every 5s", takes(time.Hour))
	}
	for _, id := range []string{"a", "b"} {
		f.start(id, scheduler.WithShutdownGrace(0))
	}
	long := func(n int) func() bool {
		return func() bool {
			running := 0
			for i := range 4 {
				running += len(f.runs.running(fmt.Sprintf("long-%d", i)))
			}
			return running == n
		}
	}
	require.Eventually(t, long(4), time.Minute, 20*time.Millisecond)

	// It answers for a few milliseconds of each 200.
	deadline := time.Now().Add(2 * time.Minute)
	for overloaded := 0; overloaded == 0 && time.Now().Before(deadline); overloaded, _, _ = f.overloadEvents() {
		f.server.Freeze()
		time.Sleep(195 * time.Millisecond)
		f.server.Thaw()
		time.Sleep(5 * time.Millisecond)
	}
	overloaded, _, lost := f.overloadEvents()
	require.Positive(t, overloaded)
	require.Zero(t, lost)
	require.True(t, long(4)(), "what ran goes on")

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		newest := f.runs.newest()
		for i := range count {
			job := fmt.Sprintf("job-%03d", i)
			assert.WithinDuration(c, time.Now(), newest[job], 3*time.Second, "%s is on time again", job)
		}
	}, 2*time.Minute, time.Second)
	require.Eventually(t, func() bool { _, keepUp, _ := f.overloadEvents(); return keepUp > 0 }, 2*time.Minute, 100*time.Millisecond)
	_, _, lost = f.overloadEvents()
	require.Zero(t, lost)
	require.True(t, long(4)(), "and to the end")
}
