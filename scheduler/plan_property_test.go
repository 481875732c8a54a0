package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// drawSituation draws a schedule, policies and a gap of any length.
func drawSituation(t *rapid.T) situation {
	seconds := func(label string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most*1000).Draw(t, label)) * time.Millisecond
	}
	spec := jobs.Defaults()
	spec.Overlap = rapid.SampledFrom([]jobs.Overlap{jobs.Forbid, jobs.Allow}).Draw(t, "overlap")
	spec.Misfire = rapid.SampledFrom([]jobs.Misfire{jobs.MisfireSkip, jobs.MisfireLatest, jobs.MisfireAll}).Draw(t, "misfire")
	spec.MisfireGrace = seconds("grace", 20)
	spec.CatchUpWindow = seconds("window", 120)
	spec.MaxCatchUp = rapid.IntRange(0, 20).Draw(t, "most")
	spec.Paused = rapid.IntRange(0, 9).Draw(t, "paused") == 0
	period := rapid.Int64Range(1, 30).Draw(t, "period") * 1000
	s := situation{policies: &policies{spec: &spec}}
	every(period)(&s)
	spec.Jitter = time.Duration(rapid.Int64Range(0, period-1).Draw(t, "jitter")) * time.Millisecond
	s.due = func(tick int64) int64 { return tick + tick*7919%(spec.Jitter.Milliseconds()+1) }
	s.watermark = rapid.Int64Range(0, 100).Draw(t, "mark") * period
	s.now = s.watermark + rapid.Int64Range(0, 300_000).Draw(t, "gap")
	if rapid.Bool().Draw(t, "edited") {
		s.edited = s.watermark + rapid.Int64Range(0, s.now-s.watermark).Draw(t, "edited after")
		if common := rapid.Int64Range(0, 3).Draw(t, "of so many ticks one is owed"); common > 0 {
			s.had = func(tick int64) bool { return tick/period%common == 0 }
		}
	}
	return s
}

// decisions applies plan until there is nothing to do, and returns what became of each tick.
// Whatever a decision says, it must decide the next ticks, all of them due, and nothing twice; and
// it does not depend on earlier counts.
func decisions(t *rapid.T, s situation, after func(*situation, decision)) (claimed, skipped []int64) {
	for range 10_000 {
		d := s.decide()
		forgetful := s
		forgetful.backlog = nil
		want, got := forgetful.decide(), d
		want.backlog, got.backlog = nil, nil
		require.Equal(t, want, got)
		first := s.tickAfter(s.watermark)
		decided := first
		switch d.action {
		case claimTick:
			require.Equal(t, first, d.tick, "the next tick")
			require.LessOrEqual(t, s.due(d.tick), s.now, "not early")
			claimed = append(claimed, d.tick)
		case skipTicks:
			require.GreaterOrEqual(t, d.tick, first, "decides something")
			n := 0
			for tick := first; tick <= d.tick; tick = s.tickAfter(tick) {
				require.LessOrEqual(t, s.due(tick), s.now, "not early")
				skipped = append(skipped, tick)
				n++
			}
			require.Equal(t, n, d.count)
			decided = d.tick
		case waitUntil:
			require.False(t, s.owed(first))
			require.LessOrEqual(t, d.at-s.now, int64(editGrace))
			skipped = append(skipped, first) // by another replica meanwhile
		default:
			require.Greater(t, s.due(first), s.now, "nothing is left that is due")
			return claimed, skipped
		}
		require.GreaterOrEqual(t, d.caughtUp, s.caughtUp)
		s.cursor = s.planned(d).advance(decided, s.tickAfter)
		after(&s, d)
	}
	require.Fail(t, "no end")
	return nil, nil
}

func TestPlanDecidesEveryTickOnceByPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		claimed, skipped := decisions(t, s, func(*situation, decision) {})

		grace := max(s.spec.MisfireGrace.Milliseconds(), 1000)
		var want, late []int64 // the ticks to be claimed
		for tick := s.tickAfter(s.watermark); s.due(tick) <= s.now; tick = s.tickAfter(tick) {
			switch lateness := s.now - s.due(tick); {
			case s.spec.Paused:
			case !s.owed(tick):
			case lateness <= grace:
				want = append(want, tick)
			case s.spec.Misfire != jobs.MisfireSkip && lateness <= s.spec.CatchUpWindow.Milliseconds():
				late = append(late, tick)
			}
		}
		keep := s.spec.MaxCatchUp
		if s.spec.Misfire == jobs.MisfireLatest {
			keep = min(keep, 1)
		}
		late = late[max(0, len(late)-keep):]
		require.Equal(t, append([]int64{}, append(late, want...)...), append([]int64{}, claimed...))
		require.Len(t, skipped, ticksUpTo(s)-len(claimed))
	})
}

func ticksUpTo(s situation) (n int) {
	for tick := s.tickAfter(s.watermark); s.due(tick) <= s.now; tick = s.tickAfter(tick) {
		n++
	}
	return n
}

// TestPlanStaysRightWhileTimePasses lets runs take their time: ticks that are caught up get later
// meanwhile, and more come due.
func TestPlanStaysRightWhileTimePasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		end := s.now + 120_000
		lates := 0
		claimed, _ := decisions(t, s, func(s *situation, d decision) {
			if d.action == claimTick {
				lateness := s.now - s.due(d.tick)
				grace := max(s.spec.MisfireGrace.Milliseconds(), 1000)
				if lateness > grace {
					lates++
					require.NotEqual(t, jobs.MisfireSkip, s.spec.Misfire)
					require.LessOrEqual(t, lateness, s.spec.CatchUpWindow.Milliseconds())
					require.Zero(t, d.latest)
				} else {
					require.Equal(t, s.due(d.tick)+grace, d.latest)
				}
				if s.spec.Overlap == jobs.Allow {
					require.Equal(t, protocol.OverlapAllow, d.overlap)
				} else {
					prompt := lateness <= promptly && d.tick > d.caughtUp && s.due(d.tick) > s.blocked
					require.Equal(t, prompt, d.overlap == protocol.OverlapSkip)
				}
			}
			if s.now < end {
				s.now += rapid.Int64Range(0, 20_000).Draw(t, "passes")
				if d.overlap == protocol.OverlapWait && rapid.Bool().Draw(t, "waited") {
					s.blocked = s.now
				}
			}
		})
		if s.spec.Paused {
			require.Empty(t, claimed)
		}
		if s.spec.MaxCatchUp == 0 {
			require.Zero(t, lates)
		}
	})
}

func TestPlanClaimsNothingThatOverlappedWhatWaited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		s.spec.Overlap, s.spec.Paused = jobs.Forbid, false
		s.caughtUp = s.watermark + rapid.Int64Range(0, 100_000).Draw(t, "caughtUp")
		s.blocked = s.watermark + rapid.Int64Range(0, 200_000).Draw(t, "blocked")
		caughtUp := s.caughtUp
		decisions(t, s, func(s *situation, d decision) {
			if d.action == claimTick && d.tick > caughtUp && s.due(d.tick) <= s.blocked {
				require.LessOrEqual(t, s.now-s.due(d.tick), int64(promptly), "it may wait for a moment")
				require.Equal(t, protocol.OverlapWait, d.overlap)
			}
		})
	})
}
