package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/schedule"
)

// TestTicksThroughClockChanges lists every tick from an instant on, in UTC, for the changes that
// other schedulers have got wrong.
func TestTicksThroughClockChanges(t *testing.T) {
	for _, tc := range []struct{ what, spec, zone, from, want string }{
		// New York goes from 02:00 EST to 03:00 EDT at 2025-03-09T07:00Z, and back at
		// 2025-11-02T06:00Z.
		{
			"hourly keeps real time in a gap", "@hourly", "America/New_York", "2025-03-09T04:30",
			"09T05:00 09T06:00 09T07:00 09T08:00",
		},
		{
			"hourly keeps real time in a repeated hour", "0 * * * *", "America/New_York", "2025-11-02T04:30",
			"02T05:00 02T06:00 02T07:00 02T08:00",
		},
		{
			"half-hourly keeps real time in a gap", "*/30 * * * *", "America/New_York", "2025-03-09T06:00",
			"09T06:30 09T07:00 09T07:30 09T08:00",
		},
		{
			"half-hourly keeps real time in a repeated hour", "*/30 * * * *", "America/New_York", "2025-11-02T05:00",
			"02T05:30 02T06:00 02T06:30 02T07:00 02T07:30",
		},
		{
			"hashed steps keep real time in a repeated hour", "H/30 * * * *", "America/New_York", "2025-11-02T05:00",
			"02T05:27 02T05:57 02T06:27 02T06:57 02T07:27",
		},
		{
			"a fixed time runs once in a repeated hour", "30 1 * * *", "America/New_York", "2025-11-01T04:00",
			"01T05:30 02T05:30 03T06:30",
		},
		{
			"a fixed time does not run in a repeated hour that is entered again", "30 1 * * *", "America/New_York", "2025-11-02T06:10",
			"03T06:30 04T06:30",
		},
		{
			"a fixed time before a gap is left alone", "30 1 * * *", "America/New_York", "2025-03-08T04:00",
			"08T06:30 09T06:30 10T05:30",
		},
		{
			"a fixed time in a gap runs at its end", "30 2 * * *", "America/New_York", "2025-03-08T04:00",
			"08T07:30 09T07:00 10T06:30",
		},
		{
			"a fixed time after a repeated hour is left alone", "30 2 * * *", "America/New_York", "2025-11-01T04:00",
			"01T06:30 02T07:30 03T07:30",
		},
		{
			"several fixed times run once each in a repeated hour", "0,30 1 * * *", "America/New_York", "2025-11-02T04:00",
			"02T05:00 02T05:30 03T06:00 03T06:30",
		},
		{
			"several fixed times in a gap run as one", "15,45 2 * * *", "America/New_York", "2025-03-08T12:00",
			"09T07:00 10T06:15 10T06:45",
		},
		{
			"fixed times in a gap and one at its end run as one", "0,30 2,3 * * *", "America/New_York", "2025-03-08T12:00",
			"09T07:00 09T07:30 10T06:00 10T06:30 10T07:00",
		},
		{
			"a list of minutes at fixed hours pauses in a repeated hour", "0,30 0-3 * * *", "America/New_York", "2025-11-02T04:30",
			"02T05:00 02T05:30 02T07:00 02T07:30 02T08:00",
		},
		{
			"a wildcard at a fixed hour runs in both passes", "*/30 1 * * *", "America/New_York", "2025-11-02T04:00",
			"02T05:00 02T05:30 02T06:00 02T06:30 03T06:00",
		},
		{
			"a wildcard at a fixed hour does not run in a gap", "*/30 2 * * *", "America/New_York", "2025-03-08T07:00",
			"08T07:30 10T06:00 10T06:30",
		},
		{
			"a fixed time of one date in a gap runs on that date", "30 2 9 3 *", "America/New_York", "2025-01-01T00:00",
			"09T07:00 09T06:30 09T07:30",
		},
		{
			"a question mark is a wildcard", "? 1 * * *", "America/New_York", "2025-11-02T05:58",
			"02T05:59 02T06:00 02T06:01",
		},
		{
			"hashed steps are a wildcard", "H/30 1 * * *", "America/New_York", "2025-11-02T05:00",
			"02T05:27 02T05:57 02T06:27 02T06:57 03T06:27",
		},
		{
			"hashed steps of a range are fixed times", "H(0-59)/30 1 * * *", "America/New_York", "2025-11-02T05:00",
			"02T05:27 02T05:57 03T06:27",
		},
		{
			"a range of all minutes is fixed times", "0-59 1 * * *", "America/New_York", "2025-11-02T05:57",
			"02T05:58 02T05:59 03T06:00",
		},
		{
			"a star further down a list is no wildcard", "58,*/59 1 * * *", "America/New_York", "2025-11-02T05:00",
			"02T05:58 02T05:59 03T06:00",
		},
		{
			"seconds at a fixed minute run in the first pass only", "*/30 59 1 * * *", "America/New_York", "2025-11-02T05:00",
			"02T05:59 02T05:59:30 03T06:59",
		},
		{
			"seconds of a fixed minute in a gap run as one", "*/30 59 2 * * *", "America/New_York", "2025-03-08T12:00",
			"09T07:00 10T06:59 10T06:59:30",
		},

		{ // 2024-04-26 begins at 01:00
			"a midnight that Cairo leaves out runs at one", "0 0 * * *", "Africa/Cairo", "2024-04-24T12:00",
			"24T22:00 25T22:00 26T21:00",
		},
		{ // 2024-10-31 24:00 becomes 23:00
			"a midnight that Cairo puts off runs when it comes", "0 0 * * *", "Africa/Cairo", "2024-10-30T12:00",
			"30T21:00 31T22:00 01T22:00",
		},
		{
			"an hour before midnight that Cairo repeats runs once", "30 23 * * *", "Africa/Cairo", "2024-10-30T12:00",
			"30T20:30 31T20:30 01T21:30",
		},
		{ // 2025-09-07 begins at 01:00
			"a midnight that Santiago leaves out runs at one", "0 0 * * *", "America/Santiago", "2025-09-05T12:00",
			"06T04:00 07T04:00 08T03:00",
		},
		{ // 2018-11-04 begins at 01:00
			"a midnight that São Paulo leaves out runs at one", "0 0 * * *", "America/Sao_Paulo", "2018-11-02T12:00",
			"03T03:00 04T03:00 05T02:00",
		},
		{
			"a weekly midnight that São Paulo leaves out runs at one", "@weekly", "America/Sao_Paulo", "2018-10-30T12:00",
			"04T03:00 11T02:00 18T02:00",
		},
		{ // 02:00 +10:30 becomes 02:30 +11:00 at 2025-10-04T15:30Z, and 02:00 +11:00 becomes 01:30 at 2026-04-04T15:00Z
			"a fixed time in Lord Howe's half hour runs at its end", "15 2 * * *", "Australia/Lord_Howe", "2025-10-03T00:00",
			"03T15:45 04T15:30 05T15:15",
		},
		{
			"a fixed time in Lord Howe's repeated half hour runs once", "45 1 * * *", "Australia/Lord_Howe", "2026-04-03T00:00",
			"03T14:45 04T14:45 05T15:15",
		},
		{
			"half-hourly keeps real time in Lord Howe's gap", "*/30 * * * *", "Australia/Lord_Howe", "2025-10-04T14:30",
			"04T15:00 04T15:30 04T16:00",
		},
		{
			"half-hourly keeps real time in Lord Howe's repeated half hour", "*/30 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00",
			"04T14:30 04T15:00 04T15:30 04T16:00",
		},
		{ // 2011-12-30 does not exist
			"a day that Samoa leaves out runs at its end", "0 9 * * *", "Pacific/Apia", "2011-12-28T12:00",
			"28T19:00 29T19:00 30T10:00 30T19:00 31T19:00",
		},
		{
			"a midnight that Samoa leaves out is the next one", "0 0 * * *", "Pacific/Apia", "2011-12-28T12:00",
			"29T10:00 30T10:00 31T10:00",
		},
		{
			"hourly keeps real time over the day that Samoa leaves out", "0 * * * *", "Pacific/Apia", "2011-12-30T08:30",
			"30T09:00 30T10:00 30T11:00",
		},
		{ // package time ends the spans of a far leap year a day early
			"the last day of a far leap year is like any other", "0 */12 * * *", "America/New_York", "2060-12-30T16:00",
			"30T17:00 31T05:00 31T17:00 01T05:00",
		},
		{
			"a fixed time on the last day of a far leap year is like any other", "59 23 * * *", "America/New_York", "2060-12-30T16:00",
			"31T04:59 01T04:59 02T04:59",
		},
	} {
		t.Run(tc.what, func(t *testing.T) {
			s, err := schedule.Parse(tc.spec, location(t, tc.zone), "job")
			require.NoError(t, err)
			tick, err := time.Parse("2006-01-02T15:04", tc.from)
			require.NoError(t, err)
			var got []string
			for range strings.FieldsSeq(tc.want) {
				tick = s.Next(tick)
				got = append(got, strings.TrimSuffix(tick.Format("02T15:04:05"), ":00"))
			}
			require.Equal(t, tc.want, strings.Join(got, " "))
		})
	}
}
