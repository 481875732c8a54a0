package schedule_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs/schedule"
)

func TestMinIntervalIsTheShortestThatOccurs(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		spec, zone string
		want       time.Duration
	}{
		{"* * * * * *", "America/New_York", time.Second},
		{"* * * * *", "America/New_York", time.Minute},
		{"*/40 * * * *", "UTC", 20 * time.Minute},
		{"0 */7 * * *", "UTC", 3 * time.Hour},
		{"0 0,23 * * *", "UTC", time.Hour},
		{"0 0,23 1 * *", "UTC", 23 * time.Hour},
		{"*/30 30 2 * * *", "UTC", 30 * time.Second},
		{"@daily", "UTC", day},
		{"@weekly", "UTC", 7 * day},
		{"@monthly", "UTC", 28 * day},
		{"0 0 31 * *", "UTC", 31 * day},
		{"0 0 L * *", "UTC", 28 * day},
		{"@yearly", "UTC", 365 * day},
		{"0 0 29 2 *", "UTC", 4*365*day + day},
		{"0 0 * 2 SUN#5", "UTC", 28*365*day + 7*day},
		{"0 0 * 2 FRI#5", "UTC", 12*365*day + 2*day}, // 2092 and 2104, as 2100 is no leap year
		{"@every 90s", "America/New_York", 90 * time.Second},
		{"@every 1h offset 5m", "America/New_York", time.Hour},
		{"@at 2030-01-01T00:00:00Z", "UTC", math.MaxInt64},

		// Clock changes bring ticks closer.
		{"0 9 * * *", "Europe/Berlin", 23 * time.Hour},
		{"30 2 * * *", "Europe/Berlin", 23*time.Hour + 30*time.Minute},
		{"30 2,3 * * *", "Europe/Berlin", 30 * time.Minute},
		{"0 9 * * MON", "Europe/Berlin", 7*day - time.Hour},
		{"45 * * * *", "Australia/Lord_Howe", 30 * time.Minute},
		{"0 9 * * *", "Pacific/Apia", 9 * time.Hour}, // after the day that was left out
		{"0 9 * * *", "Asia/Tokyo", day},
	} {
		require.Equal(t, tc.want, parse(t, tc.spec, location(t, tc.zone)).MinInterval(), "%s in %s", tc.spec, tc.zone)
	}
}

func TestNoTicksAreCloserThanMinInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, loc, tick := drawPlan(t), drawZone(t), drawInstant(t)
		s, err := schedule.Parse(p.text, loc, "job")
		require.NoError(t, err)
		shortest := s.MinInterval()
		require.GreaterOrEqual(t, shortest, time.Second)
		if _, end := tick.In(loc).ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "at a change") {
			tick = end.Add(-26 * time.Hour)
		}
		tick = s.Next(tick)
		for range 500 {
			following := s.Next(tick)
			if following.Year() > 2060 { // MinInterval looks no further
				break
			}
			require.GreaterOrEqual(t, following.Sub(tick), shortest, "%q in %s: %s and %s", p.text, loc, tick, following)
			tick = following
		}
	})
}
