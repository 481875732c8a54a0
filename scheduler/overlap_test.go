package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

func TestForbidSkipsTicksWhileAnEarlierOneRuns(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(25*time.Second))
		f.startMany(3)
		f.sleepTo(128 * time.Second)
		require.Equal(t, "10s, 40s, 1m10s, 1m40s", f.story("job"))
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 4, "skipped": 8}, f.fates("job"))
		require.Equal(t, map[string]int{"skipped overlap": 8}, f.passed("job"), "each by one replica")
	})
}

func TestAllowRunsTicksBesideEachOther(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(25*time.Second), jobs.WithOverlap(jobs.Allow))
		f.startMany(3)
		f.sleepTo(31 * time.Second)
		require.Len(t, f.runs.running("job"), 3)
		f.sleepTo(128 * time.Second)
		require.Equal(t, "10s, 20s, 30s, 40s, 50s, 1m0s, 1m10s, 1m20s, 1m30s, 1m40s, 1m50s, 2m0s", f.story("job"))
		require.Empty(t, f.passed("job"))
		time.Sleep(30 * time.Second)
	})
}

func TestCaughtUpTicksAreQueued(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(4*time.Second), jobs.WithMisfire(jobs.MisfireAll, 10*time.Second))
		f.startMany(3)
		f.sleepTo(35 * time.Second)
		f.stopAll()
		f.sleepTo(65 * time.Second)
		f.startMany(3)
		f.sleepTo(95 * time.Second)
		// 70s came due while those from before waited.
		require.Equal(t, "10s, 20s, 30s, 40s at 1m5s, 50s at 1m9s, 1m0s at 1m13s, 1m20s, 1m30s", f.story("job"))
		require.Equal(t, map[string]int{"skipped overlap": 1}, f.passed("job"))
	})
}

func TestCaughtUpTicksOverlapWhereAllowed(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(4*time.Second), jobs.WithMisfire(jobs.MisfireAll, 10*time.Second), jobs.WithOverlap(jobs.Allow))
		f.startMany(3)
		f.sleepTo(35 * time.Second)
		f.stopAll()
		f.sleepTo(65 * time.Second)
		f.startMany(3)
		f.sleepTo(75 * time.Second)
		require.ElementsMatch(t, []string{"10s", "20s", "30s", "40s at 1m5s", "50s at 1m5s", "1m0s at 1m5s", "1m10s"},
			strings.Split(f.story("job"), ", "))
	})
}

func TestLateTicksWithinTheGraceAreQueued(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(300*time.Millisecond), jobs.WithMisfire(jobs.MisfireSkip, 10*time.Second))
		replicas := f.startMany(3)
		f.sleepTo(9500 * time.Millisecond)
		for _, r := range replicas {
			r.link.cut()
		}
		f.sleepTo(12800 * time.Millisecond)
		for _, r := range replicas {
			r.link.heal()
		}
		f.sleepTo(15500 * time.Millisecond)
		runs := f.runs.of("job")
		var ticks []int
		for _, run := range runs[9:] {
			ticks = append(ticks, int(run.Tick.Sub(epoch).Seconds()))
		}
		// 13 s came due while earlier ticks waited, and so shortly after the trouble it waits for them,
		// too.
		require.Equal(t, []int{10, 11, 12, 13, 14, 15}, ticks)
		require.WithinDuration(t, epoch.Add(12800*time.Millisecond), runs[9].start, 100*time.Millisecond, "as soon as the store answers")
		require.Equal(t, runs[9].end, runs[10].start)
		require.Equal(t, runs[10].end, runs[11].start)
		require.Equal(t, runs[11].end, runs[12].start)
		require.Empty(t, f.passed("job"))
	})
}

// TestReturningReplicaKnowsThatOthersCatchUp: to it the newest tick is on time, and to find an
// earlier one running is no reason to skip it.
func TestReturningReplicaKnowsThatOthersCatchUp(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(150*time.Millisecond))
		a, b := f.start("a"), f.start("b")
		f.sleepTo(9500 * time.Millisecond)
		a.link.cut()
		b.link.cut()
		f.sleepTo(12 * time.Second)
		a.link.heal()
		f.sleepTo(12200 * time.Millisecond)
		b.link.heal()
		f.sleepTo(15 * time.Second)
		var ticks []int
		for _, run := range f.runs.of("job")[9:] {
			ticks = append(ticks, int(run.Tick.Sub(epoch).Seconds()))
		}
		require.Equal(t, []int{10, 11, 12, 13, 14, 15}, ticks)
	})
}
