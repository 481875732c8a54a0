package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs/schedule"
)

func TestClockChangesSayInASentenceWhatHappens(t *testing.T) {
	const (
		spring = "in America/New_York, where the clock goes from 02:00 to 03:00: "
		fall   = "in America/New_York, where the clock goes back from 02:00 to 01:00: "
	)
	for _, tc := range []struct{ spec, zone, day, want string }{
		{
			"30 2 * * *", "America/New_York", "2025-03-09",
			"02:30 on 2025-03-09 does not exist " + spring + "the tick runs at 03:00 (2025-03-09T07:00:00Z)",
		},
		{
			"0 2,3 * * *", "America/New_York", "2025-03-09",
			"02:00 on 2025-03-09 does not exist " + spring + "the tick runs at 03:00, as one with the tick due then (2025-03-09T07:00:00Z)",
		},
		{
			"0,30 2 * * *", "America/New_York", "2025-03-09",
			"02:00 to 02:30 on 2025-03-09 (2 ticks) do not exist " + spring + "they run as one at 03:00 (2025-03-09T07:00:00Z)",
		},
		{
			"*/30 30 2 * * *", "America/New_York", "2025-03-09",
			"02:30 to 02:30:30 on 2025-03-09 (2 ticks) do not exist " + spring + "they run as one at 03:00 (2025-03-09T07:00:00Z)",
		},
		{
			"30 1 * * *", "America/New_York", "2025-11-02",
			"01:30 on 2025-11-02 comes twice " + fall + "the tick runs once, the first time (2025-11-02T05:30:00Z)",
		},
		{
			"0,30 1 * * *", "America/New_York", "2025-11-02",
			"01:00 to 01:30 on 2025-11-02 (2 ticks) come twice " + fall + "each runs once, the first time (from 2025-11-02T05:00:00Z on)",
		},
		{
			"15 */2 * * *", "America/New_York", "2025-03-09",
			"02:15 on 2025-03-09 does not exist " + spring + "the tick does not run",
		},
		{
			"*/20 2 * * *", "America/New_York", "2025-03-09",
			"02:00 to 02:40 on 2025-03-09 (3 ticks) do not exist " + spring + "they do not run",
		},
		{
			"*/40 1 * * *", "America/New_York", "2025-11-02",
			"01:00 to 01:40 on 2025-11-02 (2 ticks) come twice " + fall + "each runs both times (again from 2025-11-02T06:00:00Z on)",
		},
		{
			"*/60 1 * * *", "America/New_York", "2025-11-02",
			"01:00 on 2025-11-02 comes twice " + fall + "the tick runs both times (again at 2025-11-02T06:00:00Z)",
		},
		{
			"30 23 * * *", "Africa/Cairo", "2024-10-31",
			"23:30 on 2024-10-31 comes twice in Africa/Cairo, where the clock goes back from 00:00 on 2024-11-01 to 23:00: " +
				"the tick runs once, the first time (2024-10-31T20:30:00Z)",
		},
		{
			"0 9 * * *", "Pacific/Apia", "2011-12-30",
			"09:00 on 2011-12-30 does not exist in Pacific/Apia, where the clock goes from 00:00 to 00:00 on 2011-12-31: " +
				"the tick runs at 00:00 on 2011-12-31 (2011-12-30T10:00:00Z)",
		},
		{
			"0 * * * *", "Australia/Lord_Howe", "2025-10-05",
			"02:00 on 2025-10-05 does not exist in Australia/Lord_Howe, where the clock goes from 02:00 to 02:30: the tick does not run",
		},
	} {
		day, err := time.Parse(time.DateOnly, tc.day)
		require.NoError(t, err)
		changes := parse(t, tc.spec, location(t, tc.zone)).ClockChanges(day.AddDate(0, 0, -1), day.AddDate(0, 0, 2))
		require.Len(t, changes, 1, tc.spec)
		require.Equal(t, tc.want, changes[0].String())
	}
}

func TestClockChangesGiveTheFactsOfTheirSentence(t *testing.T) {
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	s := parse(t, "0,30 2 * * *", location(t, "America/New_York"))
	at := time.Date(2025, 3, 9, 7, 0, 0, 0, time.UTC)
	require.Equal(t, []schedule.ClockChange{{
		Kind: "moved", Zone: "America/New_York", At: at,
		Before: "2025-03-09T02:00:00", After: "2025-03-09T03:00:00",
		First: "2025-03-09T02:00:00", Last: "2025-03-09T02:30:00", Ticks: 2, RunsAt: at, Merged: true,
	}}, s.ClockChanges(from, from.AddDate(1, 0, 0)))
}

func TestEvenSpecsHaveNoClockChanges(t *testing.T) {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(40, 0, 0)
	for _, tc := range []struct{ spec, zone string }{
		{"@hourly", "America/New_York"},
		{"*/20 * * * *", "Africa/Cairo"},
		{"17 * * * *", "Pacific/Apia"},
		{"*/30 * * * *", "Australia/Lord_Howe"},
		{"H/10 * * * *", "Australia/Lord_Howe"},
		{"0 12 * * *", "America/New_York"},
		{"30 2 * * *", "UTC"},
		{"30 2 * * *", "Asia/Tokyo"},
		{"@every 1h", "America/New_York"},
		{"@at 2025-03-09T07:00:00Z", "America/New_York"},
	} {
		require.Empty(t, parse(t, tc.spec, location(t, tc.zone)).ClockChanges(from, to), "%s in %s", tc.spec, tc.zone)
	}
}

func TestClockChangesAreLimitedToTheirTicks(t *testing.T) {
	at := func(text string) time.Time {
		instant, err := time.Parse("2006-01-02T15:04:05", text)
		require.NoError(t, err)
		return instant
	}
	for _, tc := range []struct {
		spec, zone, from, to string
		want                 int
	}{
		{"30 2 * * *", "America/New_York", "2025-03-09T07:00:00", "2025-03-09T07:00:00", 1},
		{"30 2 * * *", "America/New_York", "2025-03-08T00:00:00", "2025-03-09T06:59:59", 0},
		{"30 2 * * *", "America/New_York", "2025-03-09T07:00:01", "2025-03-10T00:00:00", 0},
		// The list that ends with the tick that runs once shows why it does not come again.
		{"30 1 * * *", "America/New_York", "2025-11-01T00:00:00", "2025-11-02T05:30:00", 1},
		{"30 1 * * *", "America/New_York", "2025-11-01T00:00:00", "2025-11-02T05:29:59", 0},
		{"30 1 * * *", "America/New_York", "2025-11-02T06:00:00", "2025-11-03T00:00:00", 1},
		{"30 1 * * *", "America/New_York", "2025-11-02T06:00:01", "2025-11-03T00:00:00", 0},
		{"*/30 1 * * *", "America/New_York", "2025-11-02T06:00:00", "2025-11-03T00:00:00", 1},
		{"*/30 1 * * *", "America/New_York", "2025-11-02T06:00:01", "2025-11-03T00:00:00", 0},
		// Havana's clock goes back from 01:00 to 00:00 at 05:00Z.
		{"30 */2 * * *", "America/Havana", "2025-11-02T05:30:00", "2025-11-03T00:00:00", 1},
		{"30 */2 * * *", "America/Havana", "2025-11-02T05:30:01", "2025-11-03T00:00:00", 0},
		{"30 */2 * * *", "America/Havana", "2025-11-01T00:00:00", "2025-11-02T04:59:59", 0},
		{"30 2 * * *", "America/New_York", "2025-01-01T00:00:00", "2028-01-01T00:00:00", 3},
		{"30 2 * * *", "America/New_York", "2028-01-01T00:00:00", "2025-01-01T00:00:00", 0},
	} {
		require.Len(t, parse(t, tc.spec, location(t, tc.zone)).ClockChanges(at(tc.from), at(tc.to)), tc.want, "%s from %s to %s", tc.spec, tc.from, tc.to)
	}
}

// TestClockChangesNameTicksThatHappen compares the sentences for people with Next.
func TestClockChangesNameTicksThatHappen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, loc, from := drawPlan(t), drawZone(t), drawInstant(t)
		s, err := schedule.Parse(p.text, loc, "job")
		require.NoError(t, err)
		for _, change := range s.ClockChanges(from, from.AddDate(3, 0, 0)) {
			require.NotEmpty(t, change.String())
			require.Equal(t, p.wildcard, change.Kind == "skipped" || change.Kind == "repeated")
			require.Equal(t, change.Ticks == 1, change.First == change.Last)
			if change.Kind == "skipped" {
				require.Zero(t, change.RunsAt)
				continue
			}
			require.Equal(t, change.RunsAt, s.Next(change.RunsAt.Add(-time.Second)), change.String())
			shown := change.RunsAt.In(loc).Format("2006-01-02T15:04:05")
			if change.Kind == "moved" {
				require.Equal(t, change.After, shown)
			} else {
				require.Equal(t, change.First, shown)
			}
		}
	})
}
