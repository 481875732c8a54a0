package scheduler_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// TestTicksFollowTheStoresClock has that clock run behind by seven minutes, be put right, and fall
// behind again. Nobody but the replicas' clocks knows the difference.
func TestTicksFollowTheStoresClock(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.store.step(-7 * time.Minute)
		f.job("job", "@every 10m", takes(0))
		f.startMany(3)
		f.sleepTo(20 * time.Minute) // 13 min by the store's clock
		require.Equal(t, "0s at 7m0s, 10m0s at 17m0s", f.story("job"))
		f.sleepTo(22 * time.Minute)
		f.store.step(7 * time.Minute)              // 22 min
		f.sleepTo(22*time.Minute + 10*time.Second) // when the clock has been steady for 5 s
		require.Len(t, f.runs.of("job"), 3, "the tick of 20 min has become a misfire, and is run")
		f.sleepTo(32 * time.Minute)
		require.Len(t, f.runs.of("job"), 4)
		f.store.step(-7 * time.Minute) // 25 min
		f.sleepTo(46*time.Minute + 59*time.Second)
		require.Len(t, f.runs.of("job"), 4, "the tick of 30 min is not run again, and that of 40 min not yet")
		f.sleepTo(47*time.Minute + 2*time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 5)
		require.Equal(t, epoch.Add(47*time.Minute), runs[4].start.UTC(), "40 min by the store's clock")
	})
}

// TestLateClaimIsNotRepeatedAllTheTime frees a tick of its predecessor a tenth of a millisecond
// after its grace, which is no difference in whole milliseconds.
func TestLateClaimIsNotRepeatedAllTheTime(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const count = 20
		for i := range count {
			f.job(fmt.Sprint("job-", i), "@every 10s", takes(15*time.Second+100*time.Microsecond), jobs.WithMisfire(jobs.MisfireSkip, 5*time.Second))
		}
		r := f.start("a")
		f.sleepTo(19 * time.Second)
		r.link.cut() // 20 s comes due meanwhile, and waits for earlier ticks
		f.sleepTo(20300 * time.Millisecond)
		var claims atomic.Int32
		r.link.set(func(c call) fault {
			return fault{cut: c.verb == verbClaim && claims.Add(1) > 100*count} // or this test would not end
		})
		f.sleepTo(29 * time.Second)
		require.Less(t, claims.Load(), int32(20*count))
		for i := range count {
			job := fmt.Sprint("job-", i)
			require.Equal(t, "10s", f.story(job))
			require.Len(t, f.passed(job), 1, "missed, or skipped")
		}
	})
}
