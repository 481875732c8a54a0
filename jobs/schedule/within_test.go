package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBoundsIncludeTheirTicks(t *testing.T) {
	hourly := parse(t, "0 * * * *", time.UTC)
	at := func(hour int, shift time.Duration) time.Time {
		return time.Date(2026, 11, 22, hour, 0, 0, 0, time.UTC).Add(shift)
	}
	s := hourly.Within(at(3, 0), at(5, 0))
	require.Equal(t, at(3, 0), s.Next(time.Time{}))
	require.Equal(t, at(5, 0), s.Next(at(4, 0)))
	require.Zero(t, s.Next(at(5, 0)))
	require.Equal(t, at(5, 0), s.Before(at(9, 0)))
	require.Zero(t, s.Before(at(3, 0)))
	require.Equal(t, "0 * * * *", s.String())
	require.Equal(t, time.Hour, s.MinInterval())
	require.Equal(t, "every hour", s.Words(nil))

	require.Equal(t, at(4, 0), hourly.Within(at(3, 1), time.Time{}).Next(time.Time{}), "its second had begun before the start")
	require.Zero(t, hourly.Within(time.Time{}, at(5, -1)).Next(at(4, 0)), "the end is before it")
	require.Equal(t, at(4, 0), s.Within(at(4, 0), at(9, 0)).Next(time.Time{}), "bounds of bounds are those of both")
	require.Zero(t, s.Within(at(4, 0), at(9, 0)).Next(at(5, 0)))
	require.Equal(t, at(1, 0), hourly.Next(at(0, 0)), "the schedule itself stays")
}

// A bounded schedule has the ticks of the other that its bounds do not exclude.
func TestBoundedTicksAreThoseOfTheSchedule(t *testing.T) {
	whole := parse(t, "*/20 30 */2 * * *", location(t, "Europe/Berlin"))
	from := time.Date(2027, 3, 27, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Time {
			return from.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, name)))
		}
		start, end, after := draw("start"), draw("end"), draw("after")
		want := whole.Next(after)
		for !want.IsZero() && want.Before(start) {
			want = whole.Next(want)
		}
		if want.After(end) {
			want = time.Time{}
		}
		require.Equal(t, want, whole.Within(start, end).Next(after))
	})
}

func TestClockChangesOutsideOfTheBoundsAreNone(t *testing.T) {
	s := parse(t, "30 2 * * *", location(t, "Europe/Berlin"))
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	require.Len(t, s.ClockChanges(year(2027), year(2030)), 6)
	require.Len(t, s.Within(year(2028), year(2029)).ClockChanges(year(2027), year(2030)), 2)
}
