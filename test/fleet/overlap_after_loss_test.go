package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A tick that comes due just after Redis has lost its records is granted beside the run of the one
// before, of which Redis learns again only by its next renewal. With replace the two then go on
// side by side, even on one replica, until the tick after that.
func TestOverlapHoldsWhenRedisHasLostItsRecords(t *testing.T) {
	t.Parallel()
	const every = 4 * time.Second
	f := orderlyFleet(t, 15*time.Second, // the default: renewals come every 5 s
		job("forbid", "@every 4s", 80),
		job("queue", "@every 4s", 80, "overlap: queue"),
		job("replace", "@every 4s", 200, "overlap: replace"))
	f.startAll("r1", "r2", "r3")
	time.Sleep(time.Until(time.Now().Truncate(every).Add(every + 500*time.Millisecond)))
	for _, name := range []string{"forbid", "queue", "replace"} {
		f.waitRun(name, 10*time.Second, func(r *run) bool { return r.job == name })
	}
	time.Sleep(1500 * time.Millisecond)
	f.redis.Kill()
	f.redis.Restart()
	time.Sleep(every + 2*time.Second)
	for _, name := range []string{"forbid", "queue", "replace"} {
		t.Run(name, func(t *testing.T) {
			runs := f.runs(name)
			for i, after := range runs[1:] {
				before := runs[i]
				// 2.5 s is more than a renewal that is made as soon as the loss is noticed needs on a busy
				// machine.
				require.Less(t, before.last.Sub(after.at), 2500*time.Millisecond, "the run of %d went on beside that of %d", before.tick, after.tick)
			}
		})
	}
}
