package quorum

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// answer has a node whose clock is so far from ours answer, after a round trip that took so long
// there and back.
func (c *clock) answer(node int, apart, there, back time.Duration) {
	sent := c.local()
	time.Sleep(there)
	at := time.Now().Add(apart)
	time.Sleep(back)
	c.answered(node, sent, at)
}

func TestClockIsMedianOfAllThatAreKnown(t *testing.T) {
	const gone = 1 << 62
	for name, test := range map[string]struct {
		apart []time.Duration
		want  time.Duration
	}{
		"three together":      {[]time.Duration{0, 0, 0}, 0},
		"one far behind":      {[]time.Duration{-time.Hour, 0, time.Second}, 0},
		"one far ahead":       {[]time.Duration{-time.Second, 0, time.Hour}, 0},
		"two, the lower":      {[]time.Duration{time.Hour, 0, gone}, 0},
		"of five, the middle": {[]time.Duration{5, 3, 1, 4, 2}, 3},
		"of four, the lower":  {[]time.Duration{5, 3, gone, 4, 2}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock(len(test.apart))
				for i, d := range test.apart {
					if d != gone {
						c.answer(i, d, 0, 0)
					}
				}
				time.Sleep(time.Minute)
				require.Equal(t, time.Now().Add(test.want).UTC(), c.now())
			})
		})
	}
}

func TestNodeIsKnownForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(3)
		for i, d := range []time.Duration{-time.Hour, 0, time.Second} {
			c.answer(i, d, 0, 0)
		}
		both := func() { c.answer(0, -time.Hour, 0, 0); c.answer(2, time.Second, 0, 0) }
		time.Sleep(clockMemory)
		both()
		require.Equal(t, time.Now().UTC(), c.now())
		time.Sleep(time.Second)
		both()
		require.Equal(t, time.Now().Add(-time.Hour).UTC(), c.now())
		time.Sleep(2 * clockMemory) // when nobody was asked at all, all are as old
		require.Equal(t, time.Now().Add(-time.Hour).UTC(), c.now())
	})
}

func TestLateAnswerUndoesNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(1)
		c.answer(0, time.Hour, 0, 0)
		sent, before := c.local(), time.Now().Add(time.Hour)
		time.Sleep(time.Millisecond)
		c.answer(0, 0, 0, 0) // the clock has stepped back meanwhile
		c.answered(0, sent, before)
		require.Equal(t, time.Now().UTC(), c.now())
	})
}

// The estimate is never ahead of the node, nor behind it by more than the way back of its best
// answer, unless its clock steps: what an answer proves is believed.
func TestOffsetHoldsWhatAnswersProve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(1)
		is := func(apart, behind time.Duration) {
			t.Helper()
			require.Equal(t, time.Now().Add(apart-behind).UTC(), c.now())
		}
		c.answer(0, 0, 0, 50*time.Millisecond)
		is(0, 50*time.Millisecond)
		c.answer(0, 0, time.Second, 10*time.Millisecond)
		is(0, 10*time.Millisecond)
		c.answer(0, 0, time.Second, time.Second) // is slow, and says nothing new
		is(0, 10*time.Millisecond)

		c.answer(0, -20*time.Second, time.Millisecond, time.Millisecond) // has stepped
		is(-20*time.Second, time.Millisecond)
		c.answer(0, time.Hour, time.Millisecond, time.Millisecond)
		is(time.Hour, time.Millisecond)
	})
}
