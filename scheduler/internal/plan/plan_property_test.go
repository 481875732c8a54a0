package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// drawSituation draws a schedule, policies and a gap of any length.
func drawSituation(t *rapid.T) Situation {
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
	s := Situation{Policies: &Policies{Spec: &spec}}
	every(period)(&s)
	spec.Jitter = time.Duration(rapid.Int64Range(0, period-1).Draw(t, "jitter")) * time.Millisecond
	s.Due = func(tick int64) int64 { return tick + tick*7919%(spec.Jitter.Milliseconds()+1) }
	s.Watermark = rapid.Int64Range(0, 100).Draw(t, "mark") * period
	s.Now = s.Watermark + rapid.Int64Range(0, 300_000).Draw(t, "gap")
	if rapid.Bool().Draw(t, "edited") {
		s.Edited = s.Watermark + rapid.Int64Range(0, s.Now-s.Watermark).Draw(t, "edited after")
		if common := rapid.Int64Range(0, 3).Draw(t, "of so many ticks one is owed"); common > 0 {
			s.Had = func(tick int64) bool { return tick/period%common == 0 }
		}
	}
	return s
}

// decisions applies plan until there is nothing to do, and returns what became of each tick.
// Whatever a decision says, it must decide the next ticks, all of them due, and nothing twice; and
// it does not depend on earlier counts.
func decisions(t *rapid.T, s Situation, after func(*Situation, Decision)) (claimed, skipped []int64) {
	for range 10_000 {
		d := s.decide()
		forgetful := s
		forgetful.backlog = nil
		want, got := forgetful.decide(), d
		want.backlog, got.backlog = nil, nil
		require.Equal(t, want, got)
		first := s.TickAfter(s.Watermark)
		decided := first
		switch d.Action {
		case ClaimTick:
			require.Equal(t, first, d.Tick, "the next tick")
			require.LessOrEqual(t, s.Due(d.Tick), s.Now, "not early")
			claimed = append(claimed, d.Tick)
		case SkipTicks:
			require.GreaterOrEqual(t, d.Tick, first, "decides something")
			n := 0
			for tick := first; tick <= d.Tick; tick = s.TickAfter(tick) {
				require.LessOrEqual(t, s.Due(tick), s.Now, "not early")
				skipped = append(skipped, tick)
				n++
			}
			require.Equal(t, n, d.Count)
			decided = d.Tick
		case WaitUntil:
			require.False(t, s.owed(first))
			require.LessOrEqual(t, d.At-s.Now, int64(editGrace))
			skipped = append(skipped, first) // by another replica meanwhile
		default:
			require.Greater(t, s.Due(first), s.Now, "nothing is left that is due")
			return claimed, skipped
		}
		require.GreaterOrEqual(t, d.caughtUp, s.caughtUp)
		s.Cursor = s.Planned(d).Advance(decided, s.TickAfter)
		after(&s, d)
	}
	require.Fail(t, "no end")
	return nil, nil
}

func TestPlanDecidesEveryTickOnceByPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		claimed, skipped := decisions(t, s, func(*Situation, Decision) {})

		grace := max(s.Spec.MisfireGrace.Milliseconds(), 1000)
		var want, late []int64 // the ticks to be claimed
		for tick := s.TickAfter(s.Watermark); s.Due(tick) <= s.Now; tick = s.TickAfter(tick) {
			switch lateness := s.Now - s.Due(tick); {
			case s.Spec.Paused:
			case !s.owed(tick):
			case lateness <= grace:
				want = append(want, tick)
			case s.Spec.Misfire != jobs.MisfireSkip && lateness <= s.Spec.CatchUpWindow.Milliseconds():
				late = append(late, tick)
			}
		}
		keep := s.Spec.MaxCatchUp
		if s.Spec.Misfire == jobs.MisfireLatest {
			keep = min(keep, 1)
		}
		late = late[max(0, len(late)-keep):]
		require.Equal(t, append([]int64{}, append(late, want...)...), append([]int64{}, claimed...))
		require.Len(t, skipped, ticksUpTo(s)-len(claimed))
	})
}

func ticksUpTo(s Situation) (n int) {
	for tick := s.TickAfter(s.Watermark); s.Due(tick) <= s.Now; tick = s.TickAfter(tick) {
		n++
	}
	return n
}

// TestPlanStaysRightWhileTimePasses lets runs take their time: ticks that are caught up get later
// meanwhile, and more come due.
func TestPlanStaysRightWhileTimePasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		end := s.Now + 120_000
		lates := 0
		claimed, _ := decisions(t, s, func(s *Situation, d Decision) {
			if d.Action == ClaimTick {
				lateness := s.Now - s.Due(d.Tick)
				grace := max(s.Spec.MisfireGrace.Milliseconds(), 1000)
				if lateness > grace {
					lates++
					require.NotEqual(t, jobs.MisfireSkip, s.Spec.Misfire)
					require.LessOrEqual(t, lateness, s.Spec.CatchUpWindow.Milliseconds())
					require.Zero(t, d.Latest)
				} else {
					require.Equal(t, s.Due(d.Tick)+grace, d.Latest)
				}
				if s.Spec.Overlap == jobs.Allow {
					require.Equal(t, protocol.OverlapAllow, d.Overlap)
				} else {
					prompt := lateness <= Promptly && d.Tick > d.caughtUp && s.Due(d.Tick) > s.Blocked
					require.Equal(t, prompt, d.Overlap == protocol.OverlapSkip)
				}
			}
			if s.Now < end {
				s.Now += rapid.Int64Range(0, 20_000).Draw(t, "passes")
				if d.Overlap == protocol.OverlapWait && rapid.Bool().Draw(t, "waited") {
					s.Blocked = s.Now
				}
			}
		})
		if s.Spec.Paused {
			require.Empty(t, claimed)
		}
		if s.Spec.MaxCatchUp == 0 {
			require.Zero(t, lates)
		}
	})
}

func TestPlanClaimsNothingThatOverlappedWhatWaited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		s.Spec.Overlap, s.Spec.Paused = jobs.Forbid, false
		s.caughtUp = s.Watermark + rapid.Int64Range(0, 100_000).Draw(t, "caughtUp")
		s.Blocked = s.Watermark + rapid.Int64Range(0, 200_000).Draw(t, "blocked")
		caughtUp := s.caughtUp
		decisions(t, s, func(s *Situation, d Decision) {
			if d.Action == ClaimTick && d.Tick > caughtUp && s.Due(d.Tick) <= s.Blocked {
				require.LessOrEqual(t, s.Now-s.Due(d.Tick), int64(Promptly), "it may wait for a moment")
				require.Equal(t, protocol.OverlapWait, d.Overlap)
			}
		})
	})
}
