package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// TestNoLostReplyLosesOrDoublesATick loses every n-th reply to one verb, for every replica.
func TestNoLostReplyLosesOrDoublesATick(t *testing.T) {
	life := 20 * time.Minute
	if raceDetected {
		life = 4 * time.Minute
	}
	tens := int(life / (10 * time.Second))
	for _, verb := range []string{verbClaim, verbRenew, verbSettle, verbRelease, verbPass, verbSync, verbTime, verbWake} {
		for _, every := range []int{1, 2, 3} {
			if every == 1 && verb != verbWake {
				continue // nothing would ever be known
			}
			if verb == verbTime {
				every++ // each second one is asked for before records are read
			}
			t.Run(fmt.Sprint(verb, " 1 in ", every), func(t *testing.T) {
				inFleet(t, func(f *fleet) {
					f.job("instant", "@every 10s", takes(0))
					f.job("long", "@every 1m", takes(20*time.Second))
					f.job("paused", "@every 10s", takes(0), paused)
					for _, r := range f.startMany(3) {
						r.link.loseReplies(every, verb)
					}
					f.sleepTo(life - 1)
					f.every((*link).heal)
					f.sleepTo(life + 5*time.Second)
					require.Equal(t, map[protocol.Outcome]int{"succeeded": tens}, f.fates("instant"))
					require.Equal(t, map[protocol.Outcome]int{"succeeded": int(life/time.Minute) - 1, "": 1}, f.fates("long"))
					require.Equal(t, map[protocol.Outcome]int{"skipped": tens}, f.fates("paused"))
					require.Equal(t, map[string]int{"skipped paused": tens}, f.passed("paused"))
					for _, a := range f.runs.of("") {
						require.Equal(t, 1, a.Attempt, "what was granted is run")
						require.Less(t, a.start.Sub(a.Tick), 200*time.Millisecond)
					}
				})
			})
		}
	}
}

func paused(s *jobs.Spec) { s.Paused = true }

// TestTakeoverWithLostReplyIsRepeated, not given up: it may have been granted. Others are answered
// meanwhile, and show that the tick is held.
func TestTakeoverWithLostReplyIsRepeated(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(6*time.Second), jobs.WithOverlap(jobs.Allow), jobs.WithMaxTakeovers(1))
		f.start("dies")
		f.sleepTo(20100 * time.Millisecond)
		f.start("lives")
		f.sleepTo(20200 * time.Millisecond)
		held := f.runs.running("job")
		require.Len(t, held, 6)
		f.replica("dies").link.cut()
		lost := map[int64]int{}
		f.replica("lives").link.set(func(c call) fault {
			if c.verb != verbClaim || c.tick > held[5].Tick.UnixMilli() || c.tick%2000 != 0 || lost[c.tick] == 5 {
				return fault{}
			}
			if g := f.grantsOf("job", time.UnixMilli(c.tick)); time.Since(g[0].renewed) >= ttl {
				lost[c.tick]++
				return fault{lost: true}
			}
			return fault{}
		})
		f.sleepTo(40 * time.Second)
		require.Len(t, lost, 3)
		for _, h := range held {
			require.Len(t, f.grantsOf("job", h.Tick), 2)
		}
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 34, "": 6}, f.fates("job"), "the last still run")
	})
}

// TestQueuedClaimIsRepeated loses the reply that at last grants it.
func TestQueuedClaimIsRepeated(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(4*time.Second), jobs.WithMisfire(jobs.MisfireAll, 10*time.Second))
		f.start("a")
		f.sleepTo(35 * time.Second)
		f.stopAll()
		f.sleepTo(65 * time.Second)
		r := f.start("b")
		f.sleepTo(67 * time.Second) // 40s runs, 50s waits
		r.link.loseReplies(1, verbClaim)
		f.sleepTo(69010 * time.Millisecond)
		r.link.heal()
		f.sleepTo(95 * time.Second)
		runs := f.runs.of("job")
		require.Equal(t, epoch.Add(50*time.Second), runs[4].Tick)
		for _, run := range runs {
			require.Equal(t, 1, run.Attempt, "%s", f.story("job"))
		}
	})
}

// TestFailingClaimIsNotRepeatedAllTheTime: such as those of a store that is out of memory.
func TestFailingClaimIsNotRepeatedAllTheTime(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireSkip, time.Hour))
		r := f.start("a")
		f.sleepTo(9 * time.Second)
		claims := 0
		r.link.set(func(c call) fault {
			if c.verb == verbClaim {
				claims++
			}
			return fault{cut: c.verb == verbClaim}
		})
		f.sleepTo(69 * time.Second)
		require.LessOrEqual(t, claims, 70)
		require.GreaterOrEqual(t, claims, 50)
		r.link.heal()
		f.sleepTo(79 * time.Second)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 7}, f.fates("job"))
	})
}
