package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/protocol"
)

// drawState draws a schedule, policies and a gap of any length.
func drawState(t *rapid.T) state {
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
	s := state{spec: &spec}
	every(period)(&s)
	spec.Jitter = time.Duration(rapid.Int64Range(0, period-1).Draw(t, "jitter")) * time.Millisecond
	s.due = func(tick int64) int64 { return tick + tick*7919%(spec.Jitter.Milliseconds()+1) }
	s.mark = rapid.Int64Range(0, 100).Draw(t, "mark") * period
	s.now = s.mark + rapid.Int64Range(0, 300_000).Draw(t, "gap")
	if rapid.Bool().Draw(t, "edited") {
		s.edited = s.mark + rapid.Int64Range(0, s.now-s.mark).Draw(t, "edited after")
		if common := rapid.Int64Range(0, 3).Draw(t, "of so many ticks one is owed"); common > 0 {
			s.had = func(tick int64) bool { return tick/period%common == 0 }
		}
	}
	return s
}

// decisions applies plan until there is nothing to do, and returns what became of each tick. Whatever a step says, it
// must decide the next ticks, all of them due, and nothing twice.
func decisions(t *rapid.T, s state, after func(*state, step)) (claimed, passed []int64) {
	for range 10_000 {
		st := plan(s)
		first := s.next(s.mark)
		switch {
		case st.claim != 0:
			require.Zero(t, st.pass)
			require.Equal(t, first, st.claim, "the next tick")
			require.LessOrEqual(t, s.due(st.claim), s.now, "not early")
			claimed = append(claimed, st.claim)
			s.mark = st.claim
		case st.pass != 0:
			require.GreaterOrEqual(t, st.pass, first, "decides something")
			n := 0
			for tick := first; tick <= st.pass; tick = s.next(tick) {
				require.LessOrEqual(t, s.due(tick), s.now, "not early")
				passed = append(passed, tick)
				n++
			}
			require.Equal(t, n, st.count)
			s.mark = st.pass
		case st.wait != 0:
			require.False(t, s.owed(first))
			require.LessOrEqual(t, st.wait-s.now, int64(editGrace))
			passed = append(passed, first)
			s.mark = first // decided by another replica meanwhile
		default:
			require.Greater(t, s.due(first), s.now, "nothing is left that is due")
			return claimed, passed
		}
		require.GreaterOrEqual(t, st.caughtUp, s.caughtUp)
		s.caughtUp = st.caughtUp
		after(&s, st)
	}
	require.Fail(t, "no end")
	return nil, nil
}

func TestPlanDecidesEveryTickOnceAndClaimsWhatThePolicySays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		claimed, passed := decisions(t, s, func(*state, step) {})

		grace := max(s.spec.MisfireGrace.Milliseconds(), 1000)
		var want, late []int64 // what is to be claimed
		for tick := s.next(s.mark); s.due(tick) <= s.now; tick = s.next(tick) {
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
		require.Len(t, passed, ticksUpTo(s)-len(claimed))
	})
}

func ticksUpTo(s state) (n int) {
	for tick := s.next(s.mark); s.due(tick) <= s.now; tick = s.next(tick) {
		n++
	}
	return n
}

// TestPlanStaysRightWhileTimePasses lets runs take their time: what is caught up gets later meanwhile, and more comes due.
func TestPlanStaysRightWhileTimePasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		end := s.now + 120_000
		lates := 0
		claimed, _ := decisions(t, s, func(s *state, st step) {
			if st.claim != 0 {
				lateness := s.now - s.due(st.claim)
				grace := max(s.spec.MisfireGrace.Milliseconds(), 1000)
				if lateness > grace {
					lates++
					require.NotEqual(t, jobs.MisfireSkip, s.spec.Misfire)
					require.LessOrEqual(t, lateness, s.spec.CatchUpWindow.Milliseconds())
					require.Zero(t, st.latest)
				} else {
					require.Equal(t, s.due(st.claim)+grace, st.latest)
				}
				if s.spec.Overlap == jobs.Allow {
					require.Equal(t, protocol.OverlapAllow, st.overlap)
				} else {
					prompt := lateness <= promptly && st.claim > st.caughtUp && s.due(st.claim) > s.blocked
					require.Equal(t, prompt, st.overlap == protocol.OverlapSkip)
				}
			}
			if s.now < end {
				s.now += rapid.Int64Range(0, 20_000).Draw(t, "passes")
				if st.overlap == protocol.OverlapWait && rapid.Bool().Draw(t, "waited") {
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
		s := drawState(t)
		s.spec.Overlap, s.spec.Paused = jobs.Forbid, false
		s.caughtUp = s.mark + rapid.Int64Range(0, 100_000).Draw(t, "caughtUp")
		s.blocked = s.mark + rapid.Int64Range(0, 200_000).Draw(t, "blocked")
		caughtUp := s.caughtUp
		decisions(t, s, func(s *state, st step) {
			if st.claim > caughtUp && s.due(st.claim) <= s.blocked {
				require.LessOrEqual(t, s.now-s.due(st.claim), int64(promptly), "it may wait for a moment")
				require.Equal(t, protocol.OverlapWait, st.overlap)
			}
		})
	})
}
