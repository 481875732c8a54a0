package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

// begin is when the tests of limits begin.
var begin = time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)

// took is units that were taken at a time.
type took struct {
	at    time.Time
	units int
}

// limited is a limit that is kept as a store does, encoded, with the units taken of it.
type limited struct {
	t     require.TestingT
	value []byte
	count int
	list  []took
}

func (l *limited) batch(id string, at time.Time, batch ...protocol.Take) []protocol.Taken {
	var state record.Limit
	require.NoError(l.t, state.Decode("name", l.value, 0, nil))
	answers, known := state.Take(id, at.Add(record.TakenFor), batch, 4*time.Millisecond, record.At(at))
	require.True(l.t, known)
	l.value = state.Encode(0)
	return answers
}

func (l *limited) take(limit protocol.Limit, units int, at time.Time) protocol.Taken {
	l.count++
	a := l.batch(string(rune('a'+l.count)), at, protocol.Take{Name: "name", Limit: limit, Units: units})[0]
	if a.OK {
		l.list = append(l.list, took{at, units})
	}
	return a
}

// most is how many units were taken within a time, at the most.
func (l *limited) most(within time.Duration) (most int) {
	for i := range l.list {
		sum := 0
		for j := i; j >= 0 && l.list[i].at.Sub(l.list[j].at) < within; j-- {
			sum += l.list[j].units
		}
		most = max(most, sum)
	}
	return most
}

func anyLimit(t *rapid.T) protocol.Limit {
	l := protocol.Limit{
		Window: rapid.Bool().Draw(t, "window"), Count: rapid.IntRange(1, 20).Draw(t, "count"),
		Per: time.Duration(rapid.IntRange(1, 5000).Draw(t, "per")) * time.Millisecond,
	}
	if !l.Window {
		l.Burst = rapid.IntRange(1, 20).Draw(t, "burst")
	}
	return l
}

func TestNoMoreIsTakenThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, l, at := anyLimit(t), &limited{t: t}, begin
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.IntRange(0, int(limit.Per)).Draw(t, "pause")))
			units := rapid.IntRange(1, limit.Most()).Draw(t, "units")
			a := l.take(limit, units, at)
			if a.OK {
				continue
			}
			require.Less(t, a.Remaining, units)
			require.False(t, l.take(limit, units, at.Add(a.Wait-1)).OK, "it is not too early by the answer")
			if rapid.Bool().Draw(t, "comes back") {
				at = at.Add(a.Wait)
				require.True(t, l.take(limit, units, at).OK, "nobody came before it")
			}
		}
		if limit.Window {
			require.LessOrEqual(t, l.most(limit.Per), limit.Count)
			return
		}
		for within := time.Duration(1); within < 20*limit.Per; within *= 3 {
			filled := int(within*time.Duration(limit.Count)/limit.Per) + 1
			require.LessOrEqual(t, l.most(within), limit.Burst+filled, "in %s", within)
		}
	})
}

func TestRepeatedBatchIsAnsweredAsBefore(t *testing.T) {
	for _, limit := range []protocol.Limit{{Count: 1, Per: time.Hour, Burst: 3}, {Window: true, Count: 3, Per: time.Hour}} {
		l := &limited{t: t}
		take := func(units int) protocol.Take { return protocol.Take{Name: "name", Limit: limit, Units: units} }
		batch := []protocol.Take{take(1), take(3), take(2)}
		oks := func(id string) (list []bool) {
			for _, a := range l.batch(id, begin, batch...) {
				list = append(list, a.OK)
			}
			return list
		}
		require.Equal(t, []bool{true, false, true}, oks("one"))
		require.Equal(t, []bool{true, false, true}, oks("one"), "its answer was lost")
		require.Equal(t, []bool{false, false, false}, oks("two"))
	}
}

func TestABatchIsRememberedWhileItMayComeAgain(t *testing.T) {
	limit, l := protocol.Limit{Window: true, Count: 1000, Per: time.Hour}, &limited{t: t}
	one := protocol.Take{Name: "name", Limit: limit, Units: 1}
	until := begin.Add(record.TakenFor)
	again := func(at time.Time) (taken []protocol.Taken, known bool) {
		var state record.Limit
		require.NoError(t, state.Decode("name", l.value, 0, nil))
		taken, known = state.Take("mine-1", until, []protocol.Take{one}, 0, record.At(at))
		l.value = state.Encode(0)
		return taken, known
	}
	first, known := again(begin)
	require.True(t, known)
	require.Equal(t, 999, first[0].Remaining)
	for i := range 300 {
		l.batch(fmt.Sprintf("c%d-%d", i%100, i), begin, one)
	}
	repeated, known := again(until)
	require.True(t, known)
	require.True(t, repeated[0].OK)
	require.Equal(t, 699, repeated[0].Remaining)
	size := len(l.value)
	_, known = again(until.Add(1))
	require.False(t, known)
	_, known = again(begin.Add(-1))
	require.False(t, known, "the clock was set back")
	l.batch("c-1", until.Add(time.Second), one)
	require.Less(t, len(l.value), size/10, "what does not come again is forgotten")
}

func TestALimitOfThePreviousFormatIsRead(t *testing.T) {
	var full record.Limit
	full.Full = begin
	value := full.Encode(0)
	value[0] = 0x41
	var read record.Limit
	require.NoError(t, read.Decode("name", value, 0, nil))
	require.Equal(t, begin, read.Full)
}

func TestThoseWhoWaitAreGivenLaterTimes(t *testing.T) {
	limit, l := protocol.Limit{Count: 1, Per: time.Second, Burst: 1}, &limited{t: t}
	require.True(t, l.take(limit, 1, begin).OK)
	waits := protocol.Take{Name: "name", Limit: limit, Units: 1, Waits: true}
	asks := protocol.Take{Name: "name", Limit: limit, Units: 1}
	a := l.batch("id", begin, waits, waits, asks, waits)
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		require.Equal(t, want, a[i].Wait)
	}
}

func TestASetBackClockDelaysALimitForABoundedTime(t *testing.T) {
	for _, limit := range []protocol.Limit{{Count: 1, Per: time.Second, Burst: 3}, {Window: true, Count: 3, Per: time.Second}} {
		l := &limited{t: t}
		require.True(t, l.take(limit, 3, begin).OK)
		past := begin.Add(-time.Hour)
		a := l.take(limit, 1, past)
		require.False(t, a.OK, "nothing comes back by it")
		require.LessOrEqual(t, a.Wait, 2*limit.Per)
		require.True(t, l.take(limit, 1, past.Add(a.Wait)).OK)
	}
}

func TestAChangedLimitTakesNoLongerThanItself(t *testing.T) {
	l := &limited{t: t}
	require.True(t, l.take(protocol.Limit{Count: 1, Per: time.Hour, Burst: 10}, 10, begin).OK)
	a := l.take(protocol.Limit{Count: 1, Per: time.Second, Burst: 5}, 1, begin)
	require.Equal(t, time.Second, a.Wait)
}
