package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTimersReturnDueEntriesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timers, at := NewTimers[*doer](), map[*Slot[*doer]]int64{}
		all := make([]*Slot[*doer], 20)
		for i := range all {
			all[i] = new(doer).slot()
		}
		var buffer []*Slot[*doer]
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				c := rapid.SampledFrom(all).Draw(t, "worker")
				when := rapid.Int64Range(0, 50).Draw(t, "at")
				timers.Set(c, when)
				at[c] = when
				if when == 0 {
					delete(at, c)
				}
			},
			"due": func(t *rapid.T) {
				now += rapid.Int64Range(0, 10).Draw(t, "later")
				due, next := timers.Due(now, buffer)
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
					require.Equal(t, at[c.Slot], c.actAt)
				}
			},
		})
	})
}

func TestTimersWakeTheLoopOnlyWhenEarlier(t *testing.T) {
	timers := NewTimers[*doer]()
	a, b := new(doer).slot(), new(doer).slot()
	timers.Set(a, 100)
	require.Empty(t, timers.Wake, "the loop has not looked yet: it will")
	_, next := timers.Due(10, nil)
	require.EqualValues(t, 100, next)

	timers.Set(b, 200)
	require.Empty(t, timers.Wake, "later than what it waits for")
	timers.Set(b, 50)
	require.Len(t, timers.Wake, 1)
	timers.Set(b, 40)
	require.Len(t, timers.Wake, 1, "wake-ups coalesce")
	<-timers.Wake

	due, next := timers.Due(60, nil)
	require.Equal(t, []*Slot[*doer]{b}, due)
	require.EqualValues(t, 100, next)
	timers.Set(a, 0)
	due, next = timers.Due(1000, nil)
	require.Empty(t, due)
	require.Zero(t, next)
	timers.Set(a, 5)
	require.Len(t, timers.Wake, 1, "a loop without anything to wait for sleeps through everything")
}
