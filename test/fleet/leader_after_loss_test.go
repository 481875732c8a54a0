package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A replica that starts just after Redis has lost its records does not know that it has, and is
// granted the lock of a leader task that runs elsewhere: two run it until the other's next renewal.
// So it is when a machine comes back that has both Redis and a worker.
func TestLeaderTaskRunsOnceAfterLossAndStart(t *testing.T) {
	t.Parallel()
	f := orderlyFleet(t, 15*time.Second, leaderTask("led", 100000)) // the default: renewals come every 5 s
	f.startAll("r1", "r2")
	leads := f.waitRun("it runs", 20*time.Second, func(r *run) bool { return r.entries >= 2 })
	f.redis.Kill()
	f.redis.Restart()
	f.start("r3").waitReady()
	time.Sleep(time.Until(leads.at.Add(7 * time.Second)))
	f.oneAtATime("led")
	require.Len(t, f.runs("led"), 1)
}
