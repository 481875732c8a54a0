package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// server is a clock that is off from this machine's.
type server struct{ skew time.Duration }

func (s server) now() time.Time { return time.Now().Add(s.skew) }

// ask takes a sample whose request and reply take so long.
func (s server) ask(c *Clock, there, back time.Duration) {
	sent := time.Now()
	time.Sleep(there)
	now := s.now()
	time.Sleep(back)
	c.sample(sent, time.Now(), now)
}

func (s server) error(c *Clock) time.Duration { return c.Now().Sub(s.now()) }

func TestTheBestRoundTripWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := server{skew: 7 * time.Minute}, New()
		s.ask(c, 40*time.Millisecond, 0)
		require.Equal(t, 20*time.Millisecond, s.error(c), "the half that is wrong with a lopsided trip")
		s.ask(c, time.Millisecond, 3*time.Millisecond)
		require.Equal(t, -time.Millisecond, s.error(c))
		s.ask(c, 100*time.Millisecond, 0)
		require.Equal(t, -time.Millisecond, s.error(c), "a worse one changes nothing")
		require.Equal(t, c.Now().UnixMilli(), c.Ms())
		require.Equal(t, time.UTC, c.Now().Location())
	})
}

func TestOldBestRoundTripIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := server{skew: -time.Hour}, New()
		s.ask(c, time.Millisecond, time.Millisecond)
		time.Sleep(memory - 20*time.Millisecond)
		s.ask(c, 10*time.Millisecond, 0)
		require.Zero(t, s.error(c), "still good")
		time.Sleep(30 * time.Millisecond)
		s.ask(c, 20*time.Millisecond, 0)
		require.Equal(t, 5*time.Millisecond, s.error(c), "the best of those that are left")
	})
}

func TestBestRoundTripIsForgottenAfterManyOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := server{}, New()
		s.ask(c, time.Millisecond, time.Millisecond)
		for range len(c.samples) {
			require.Zero(t, s.error(c))
			s.ask(c, 20*time.Millisecond, 0)
		}
		s.ask(c, 20*time.Millisecond, 0)
		require.Equal(t, 10*time.Millisecond, s.error(c))
	})
}

func TestAStepIsFollowedAtOnce(t *testing.T) {
	for name, step := range map[string]time.Duration{
		"the store's clock was put forward": time.Hour,
		"the store's clock was put back":    -time.Hour,
		// To the monotonic clock a suspension is nothing but a store whose clock jumps ahead.
		"the machine was suspended for a moment": 50 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, c := server{}, New()
				for range 20 {
					s.ask(c, time.Millisecond, time.Millisecond)
				}
				s.skew += step
				s.ask(c, 5*time.Millisecond, 5*time.Millisecond)
				require.Zero(t, s.error(c))
				s.ask(c, 10*time.Millisecond, 10*time.Millisecond)
				require.Zero(t, s.error(c), "and those from before have no say any more")
			})
		})
	}
}

// TestFleetTimeErrorIsHalfARoundTrip is about the round trip of the newest sample, however
// lopsided: those that are kept are better.
func TestFleetTimeErrorIsHalfARoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type trip struct{ wait, there, back time.Duration }
		draw := func(label string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(rt, label))
		}
		skew := draw("skew", 2*time.Hour) - time.Hour
		trips := make([]trip, rapid.IntRange(1, 60).Draw(rt, "trips"))
		for i := range trips {
			trips[i] = trip{draw("wait", 5*time.Second), draw("there", time.Second), draw("back", time.Second)}
		}
		synctest.Test(t, func(t *testing.T) {
			s, c := server{skew: skew}, New()
			best := time.Duration(1<<63 - 1)
			for _, trip := range trips {
				time.Sleep(trip.wait)
				s.ask(c, trip.there, trip.back)
				best = min(best, trip.there+trip.back)
				require.LessOrEqual(t, s.error(c).Abs(), (trip.there+trip.back)/2+1)
			}
			if len(trips) <= len(c.samples) && len(trips) <= 4 { // none of them is forgotten
				require.LessOrEqual(t, s.error(c).Abs(), best/2+1)
			}
		})
	})
}
