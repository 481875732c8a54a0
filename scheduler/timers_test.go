package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTimersReturnDueEntriesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timers, at := newTimers(), map[*contender]int64{}
		all := make([]*contender, 20)
		for i := range all {
			all[i] = &contender{index: -1}
		}
		var buffer []*contender
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				c := rapid.SampledFrom(all).Draw(t, "contender")
				when := rapid.Int64Range(0, 50).Draw(t, "at")
				timers.set(c, when)
				at[c] = when
				if when == 0 {
					delete(at, c)
				}
			},
			"due": func(t *rapid.T) {
				now += rapid.Int64Range(0, 10).Draw(t, "later")
				due, next := timers.due(now, buffer)
				buffer = due
				last := int64(0)
				for _, c := range due {
					require.LessOrEqual(t, at[c], now)
					require.GreaterOrEqual(t, at[c], last)
					last = at[c]
					require.Contains(t, at, c)
					delete(at, c)
				}
				first := int64(0)
				for _, when := range at {
					require.Greater(t, when, now, "it was due")
					if first == 0 || when < first {
						first = when
					}
				}
				require.Equal(t, first == 0, next == 0)
				require.LessOrEqual(t, next, first, "or the loop sleeps through it")
			},
			"": func(t *rapid.T) {
				require.Len(t, timers.heap, len(at))
				for i, c := range timers.heap {
					require.EqualValues(t, i, c.index)
					require.Equal(t, at[c.contender], c.actAt)
				}
			},
		})
	})
}

func TestTimersWakeTheLoopOnlyWhenEarlier(t *testing.T) {
	timers := newTimers()
	a, b := &contender{index: -1}, &contender{index: -1}
	timers.set(a, 100)
	require.Empty(t, timers.wake, "the loop has not looked yet: it will")
	_, next := timers.due(10, nil)
	require.EqualValues(t, 100, next)

	timers.set(b, 200)
	require.Empty(t, timers.wake, "later than what it waits for")
	timers.set(b, 50)
	require.Len(t, timers.wake, 1)
	timers.set(b, 40)
	require.Len(t, timers.wake, 1, "wake-ups coalesce")
	<-timers.wake

	due, next := timers.due(60, nil)
	require.Equal(t, []*contender{b}, due)
	require.EqualValues(t, 100, next)
	timers.set(a, 0)
	due, next = timers.due(1000, nil)
	require.Empty(t, due)
	require.Zero(t, next)
	timers.set(a, 5)
	require.Len(t, timers.wake, 1, "a loop without anything to wait for sleeps through everything")
}
