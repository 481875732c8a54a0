package schedule_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs/schedule"
)

func TestEveryIsAlignedToTheEpoch(t *testing.T) {
	for _, tc := range []struct{ spec, after, want string }{
		{"@every 90s", "1970-01-01T00:00:00Z", "1970-01-01T00:01:30Z"},
		{"@every 90s", "2025-06-01T12:00:00Z", "2025-06-01T12:01:30Z"},
		{"@every 90s", "2025-06-01T12:01:29.999999999Z", "2025-06-01T12:01:30Z"},
		{"@every 90s", "2025-06-01T12:01:30.000000001Z", "2025-06-01T12:03:00Z"},
		{"@every 90s", "1969-12-31T23:59:00Z", "1970-01-01T00:00:00Z"},
		{"@every 1h offset 5m", "2025-06-01T12:00:00Z", "2025-06-01T12:05:00Z"},
		{"@every 1h OFFSET 5m", "2025-06-01T12:05:00Z", "2025-06-01T13:05:00Z"},
		{"@EVERY 1h offset 0s", "2025-06-01T12:05:00Z", "2025-06-01T13:00:00Z"},
		{"@every 24h", "2025-03-09T05:00:00-04:00", "2025-03-10T00:00:00Z"},
		{"@every 168h", "2025-06-01T12:00:00Z", "2025-06-05T00:00:00Z"}, // the epoch was a Thursday
	} {
		after, err := time.Parse(time.RFC3339, tc.after)
		require.NoError(t, err)
		got := parse(t, tc.spec, location(t, "America/New_York")).Next(after)
		require.Equal(t, tc.want, got.Format(time.RFC3339Nano), "%s after %s", tc.spec, tc.after)
	}
}

func TestAOneOffTicksOnce(t *testing.T) {
	s := parse(t, "@at 2030-01-31T08:00:00+01:00", location(t, "America/New_York"))
	at := time.Date(2030, 1, 31, 7, 0, 0, 0, time.UTC)
	require.Equal(t, at, s.Next(time.Time{}))
	require.Equal(t, at, s.Next(at.Add(-1)))
	require.Zero(t, s.Next(at))
	require.Zero(t, s.Next(at.AddDate(1, 0, 0)))
}

func TestNextIsDefinedForEveryInstant(t *testing.T) {
	for _, spec := range []string{"* * * * *", "0 9 * * *", "0 0 29 2 *", "0 0 * 2 SUN#5", "@every 1s", "@every 2000000h", "@at 9999-12-31T23:59:59Z"} {
		for _, zone := range []string{"UTC", "America/New_York", "Pacific/Kiritimati"} {
			s := parse(t, spec, location(t, zone))
			last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
			require.Zero(t, s.Next(last), spec)
			require.Zero(t, s.Next(time.Unix(math.MaxInt64/2, 0)), spec)
			require.Zero(t, s.Next(time.Unix(math.MaxInt64, 0)), spec)
			require.Empty(t, s.ClockChanges(time.Unix(math.MaxInt64, 0), time.Unix(math.MaxInt64, 0)))
			first := s.Next(time.Time{})
			require.True(t, first.After(time.Time{}), "%s: %s", spec, first)
			require.Equal(t, first, s.Next(time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)), spec)
			require.Equal(t, first, s.Next(time.Unix(math.MinInt64/2, 0)), spec)
			for tick := s.Next(time.Date(9999, 12, 31, 22, 0, 0, 0, time.UTC)); !tick.IsZero(); tick = s.Next(tick) {
				require.False(t, tick.After(last), spec)
			}
		}
	}
}

func TestRareDatesAreFound(t *testing.T) {
	after := time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, "2104-02-29", parse(t, "0 0 29 2 *", nil).Next(after).Format(time.DateOnly), "2100 is no leap year")
	after = time.Date(2088, 3, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, "2128-02-29", parse(t, "0 0 * 2 SUN#5", nil).Next(after).Format(time.DateOnly), "forty years without five Sundays in February")
}

// TestReplicasAgree holds what lets replicas find ticks without talking: between two ticks every
// instant has the same next tick, in whatever zone it is expressed, and the ticks are whole
// seconds.
func TestReplicasAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		loc, err := time.LoadLocation(name)
		require.NoError(t, err)
		one, err := schedule.Parse(p.text, loc, "job")
		require.NoError(t, err)
		other, err := schedule.Parse(one.String(), loc, "job")
		require.NoError(t, err)

		tick := one.Next(drawInstant(t))
		for range 20 {
			following := one.Next(tick)
			require.True(t, following.After(tick))
			require.Equal(t, time.UTC, following.Location())
			require.Zero(t, following.Nanosecond())
			between := tick.Add(time.Duration(rapid.Int64Range(0, int64(following.Sub(tick))-1).Draw(t, "between")))
			elsewhere, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "elsewhere"))
			require.NoError(t, err)
			require.Equal(t, following, other.Next(between.In(elsewhere)))
			tick = following
		}
	})
}

func drawInstant(t *rapid.T) time.Time {
	const from, to = 946684800, 2240611200 // 2000 to 2041
	return time.Unix(rapid.Int64Range(from, to-1).Draw(t, "instant"), 0)
}

func TestBeforeIsTheLastTickBefore(t *testing.T) {
	at := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return at
	}
	for _, test := range [][3]string{
		{"0 2 * * *", "2026-11-20T02:00:00Z", "2026-11-19T02:00:00Z"},
		{"0 2 * * *", "2026-11-20T02:00:00.001Z", "2026-11-20T02:00:00Z"},
		{"* * * * * *", "2026-11-20T02:00:00Z", "2026-11-20T01:59:59Z"},
		{"0 0 29 2 *", "2027-11-20T00:00:00Z", "2024-02-29T00:00:00Z"},
		{"@at 2026-01-01T00:00:00Z", "2026-11-20T00:00:00Z", "2026-01-01T00:00:00Z"},
	} {
		s, err := schedule.Parse(test[0], time.UTC, "job")
		require.NoError(t, err)
		require.Equal(t, at(test[2]), s.Before(at(test[1])), test[0])
	}
	s, err := schedule.Parse("@at 2030-01-01T00:00:00Z", time.UTC, "job")
	require.NoError(t, err)
	require.Zero(t, s.Before(at("2026-11-20T00:00:00Z")))
}
