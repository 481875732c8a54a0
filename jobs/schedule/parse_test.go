package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/schedule"
)

func parse(t testing.TB, spec string, loc *time.Location) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(spec, loc, "job")
	require.NoError(t, err)
	return s
}

// ticksBetween returns the ticks after from, up to and including to, in Unix seconds.
func ticksBetween(s *schedule.Schedule, from, to time.Time) []int64 {
	ticks := []int64{}
	for tick := s.Next(from); !tick.IsZero() && !tick.After(to); tick = s.Next(tick) {
		ticks = append(ticks, tick.Unix())
	}
	return ticks
}

func TestShorthandTicksAsWrittenOut(t *testing.T) {
	from := time.Date(2023, 12, 25, 0, 0, 0, 0, time.UTC)
	for short, long := range map[string]string{
		"@hourly":               "0 * * * *",
		"@daily":                "0 0 * * *",
		"@midnight":             "0 0 * * *",
		"@weekly":               "0 0 * * 0",
		"@monthly":              "0 0 1 * *",
		"@yearly":               "0 0 1 1 *",
		"@annually":             "0 0 1 1 *",
		"@Daily":                "0 0 * * *",
		"  0   0 *\t* *  ":      "0 0 0 * * *",
		"0 9 * * MON-FRI":       "0 9 * * 1,2,3,4,5",
		"0 9 * * fri-sun":       "0 9 * * 0,5,6",
		"0 9 * * 7":             "0 9 * * 0",
		"0 9 * * 5-7":           "0 9 * * 5,6,0",
		"0 9 * * 5-7/2":         "0 9 * * 5,0",
		"0 9 * * 0-7":           "0 9 * * *",
		"0 9 * * 7-3":           "0 9 * * 0-3",
		"0 9 * * 7-7":           "0 9 * * 0",
		"0 9 * * 3/2":           "0 9 * * 3,5",
		"0 9 ? JAN,mar-MAY ?":   "0 9 * 1,3,4,5 *",
		"*/20 * * * *":          "0,20,40 * * * *",
		"10/20 * * * *":         "10,30,50 * * * *",
		"10-30/20 * * * *":      "10,30 * * * *",
		"*/60 */24 * * *":       "0 0 * * *",
		"? ? * * *":             "* * * * *",
		"*/40 5 0 * * *":        "0,40 5 0 * * *",
		"05 007 * * *":          "5 7 * * *",
		"0 0 */10 * *":          "0 0 1,11,21,31 * *",
		"0 0 13 * FRI":          "0 0 13 * 5",
		"0 0 31,L 1,3,5,7 *":    "0 0 31 1,3,5,7 *",
		"0 0 1W 6 *":            "0 0 3 6 *", // 1 June 2024 is a Saturday
		"0 0 1-31 1 MON":        "0 0 * 1 *",
		"@every 90m offset 30m": "@every 90m offset 1800s",
	} {
		to := from.AddDate(1, 0, 0)
		require.Equal(t, ticksBetween(parse(t, long, nil), from, to), ticksBetween(parse(t, short, nil), from, to), "%q must tick as %q does", short, long)
	}
}

func TestEitherDayMatchesWhenBothAreRestricted(t *testing.T) {
	from := time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC) // a Sunday, and so the 13th is a Friday
	days := func(spec string) string {
		var days []string
		for _, tick := range ticksBetween(parse(t, spec, nil), from.Add(-time.Second), from.AddDate(0, 1, -1)) {
			days = append(days, time.Unix(tick, 0).UTC().Format("2"))
		}
		return strings.Join(days, " ")
	}
	for spec, want := range map[string]string{
		"0 0 10 * FRI":    "6 10 13 20 27",
		"0 0 */10 * FRI":  "1 6 11 13 20 21 27",
		"0 0 * * FRI":     "6 13 20 27",
		"0 0 ? * FRI":     "6 13 20 27",
		"0 0 10 * *":      "10",
		"0 0 10 * ?":      "10",
		"0 0 *,10 * FRI":  "6 13 20 27",
		"0 0 10 * */3":    "1 4 7 8 10 11 14 15 18 21 22 25 28 29",
		"0 0 L * *":       "30",
		"0 0 LW * *":      "30",
		"0 0 15W * *":     "16",
		"0 0 14W * *":     "13",
		"0 0 1W,12W * *":  "2 12",
		"0 0 * * FRI#2":   "13",
		"0 0 * * 0#1,7#5": "1 29",
		"0 0 * * MON#5":   "30",
		"0 0 * * FRI#5":   "",
		"0 0 * * FRIL":    "27",
		"0 0 * * 7L,1L":   "29 30",
		"0 0 L * SUN#1":   "1 30",
		"0 0 10,L * *":    "10 30",
	} {
		require.Equal(t, want, days(spec), spec)
	}
}

func TestDaysStayInTheirMonth(t *testing.T) {
	for _, tc := range []struct{ spec, month, want string }{
		{"0 0 1W * *", "2024-06", "2024-06-03"},  // 1 June is a Saturday
		{"0 0 1W * *", "2024-09", "2024-09-02"},  // 1 September is a Sunday
		{"0 0 31W * *", "2024-03", "2024-03-29"}, // 31 March is a Sunday
		{"0 0 31W * *", "2024-08", "2024-08-30"}, // 31 August is a Saturday
		{"0 0 31W * *", "2024-04", "2024-05-31"}, // April has no 31st
		{"0 0 LW * *", "2024-06", "2024-06-28"},  // 30 June is a Sunday
		{"0 0 LW * *", "2024-02", "2024-02-29"},
		{"0 0 * * SUNL", "2026-02", "2026-02-22"}, // a month of four weeks, from Sunday to Saturday
		{"0 0 * * SATL", "2026-02", "2026-02-28"},
		{"0 0 * * SUN#5", "2026-02", "2026-03-29"},
	} {
		from, err := time.Parse("2006-01", tc.month)
		require.NoError(t, err)
		require.Equal(t, tc.want, parse(t, tc.spec, nil).Next(from.Add(-time.Second)).Format(time.DateOnly), "%s from %s", tc.spec, tc.month)
	}
}

func TestWeekdaysEndWithTheirMonth(t *testing.T) {
	from := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, spec := range []string{"0 0 * 2 MON", "0 0 31 2 MON"} {
		require.Len(t, ticksBetween(parse(t, spec, nil), from, from.AddDate(0, 6, 0)), 4, "%s: 2 March is no 30 February", spec)
	}
}

func TestRefusedSpecsNameTheRule(t *testing.T) {
	const (
		count    = "must have 5 fields, or 6 with leading seconds, and has "
		zone     = "must not name a time zone: use jobs.WithTimezone"
		never    = "never fires: none of its months has a day that it names"
		minute   = " in the minute field: must be a number or a range from 0 to 59"
		step     = " in the minute field: the step after / must be a number from 1 to 60"
		duration = ", which must be a duration in h, m and s, such as 90s or 1h30m (a day is 24h)"
		every    = "must be @every DURATION or @every DURATION offset DURATION, such as @every 1h offset 5m"
		form     = "@at and a time as RFC 3339 writes it, such as @at 2030-01-31T08:00:00Z"
	)
	for spec, want := range map[string]string{
		"":                             count + "0",
		" \t\n":                        count + "0",
		"* * *":                        count + "3",
		"0 0 0 1 1 ? 2030":             count + "7",
		"TZ=0":                         zone,
		"CRON_TZ=UTC":                  zone,
		"TZ=UTC * * * * *":             zone,
		"tz=UTC @daily":                zone,
		"61 25 * * *":                  `has "61"` + minute + `; has "25" in the hour field: must be a number or a range from 0 to 23`,
		"61,99 * * * *":                `has "61"` + minute + `; has "99"` + minute,
		"60 * * * * *":                 `has "60" in the second field: must be a number or a range from 0 to 59`,
		"* * 0 13 8":                   `has "0" in the day of month field: must be a number or a range from 1 to 31; has "13" in the month field: must be a number or a range from 1 to 12, or JAN to DEC; has "8" in the day of week field: must be a number or a range from 0 to 7, or SUN to SAT`,
		"*-5 * * * *":                  `has "*-5"` + minute,
		"+5 * * * *":                   `has "+5"` + minute,
		"-5 * * * *":                   `has "-5"` + minute,
		"5- * * * *":                   `has "5-"` + minute,
		"1-2-3 * * * *":                `has "1-2-3"` + minute,
		"1_0 * * * *":                  `has "1_0"` + minute,
		"MON * * * *":                  `has "MON"` + minute,
		"5-70 * * * *":                 `has "5-70"` + minute,
		"99999999999999999999 * * * *": `has "99999999999999999999"` + minute,
		", * * * *":                    `has "" in the minute field: an item of a list must not be empty`,
		"1,,2 * * * *":                 `has "" in the minute field: an item of a list must not be empty`,
		"* 22-2 * * *":                 `has "22-2" in the hour field: a range must not run backwards: write 22-23,0-2`,
		"* * * * FRI-MON":              `has "FRI-MON" in the day of week field: a range must not run backwards: write 5-6,0-1`,
		"*/0 * * * *":                  `has "*/0"` + step,
		"*/ * * * *":                   `has "*/"` + step,
		"*/-5 * * * *":                 `has "*/-5"` + step,
		"*/5/5 * * * *":                `has "*/5/5"` + step,
		"*/90 * * * *":                 `has "*/90"` + step + "; for a longer period use @every",
		"0 0 */32 * *":                 `has "*/32" in the day of month field: the step after / must be a number from 1 to 31`,
		"L * * * *":                    `has "L" in the minute field: L and W belong in the day of month field`,
		"* * L/2 * *":                  `has "L/2" in the day of month field: a step cannot follow L, W or #`,
		"* * L-3 * *":                  `has "L-3" in the day of month field: days before the last one are not supported; L, LW and a number are`,
		"* * W * *":                    `has "W" in the day of month field: before W must be a day from 1 to 31, or L`,
		"* * 32W * *":                  `has "32W" in the day of month field: before W must be a day from 1 to 31, or L`,
		"* * * * L":                    `has "L" in the day of week field: before L must be a day from 0 to 7 or SUN to SAT, as in FRIL, the month's last Friday`,
		"* * * * 8#1":                  `has "8#1" in the day of week field: before # must be a day from 0 to 7 or SUN to SAT`,
		"* * * * 5#6":                  `has "5#6" in the day of week field: after # must be a number from 1 to 5`,
		"* * * * 5#":                   `has "5#" in the day of week field: after # must be a number from 1 to 5`,
		"H(5-10)/20 * * * *":           `has "H(5-10)/20" in the minute field: the step after / must be at most the 6 values of the range`,
		"0 0 30 2 *":                   never,
		"0 0 31 2,4,6,9,11 *":          never,
		"0 0 30W 2 *":                  never,
		"@reboot":                      "must not be @reboot: a fleet has no reboot; use @every for a regular run or @at for a single one",
		"@":                            "must be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every DURATION, @at TIME, @triggered, @stored, or have 5 or 6 fields",
		"@daily at nine":               "must have nothing after @daily",
		"@every":                       every,
		"@every 1h 5m":                 every,
		"@every 1h after 5m":           every,
		"@every 0s":                    `has the period "0s", which must be at least 1s`,
		"@every -5s":                   `has the period "-5s", which must be at least 1s`,
		"@every 100ms":                 `has the period "100ms", which must be whole seconds`,
		"@every 1500ms":                `has the period "1500ms", which must be whole seconds`,
		"@every 1d":                    `has the period "1d"` + duration,
		"@every 9999999h":              `has the period "9999999h"` + duration,
		"@every 1h offset 1h":          `has the offset "1h", which must be at least 0s and shorter than the period`,
		"@every 1h offset -1s":         `has the offset "-1s", which must be at least 0s and shorter than the period`,
		"@every 1h offset x":           `has the offset "x"` + duration,
		"@at":                          "must be " + form,
		"@at 2030-01-31 08:00:00Z":     "must be " + form,
		"@at tomorrow":                 `has the time "tomorrow", but must be ` + form,
		"@at 2030-02-30T08:00:00Z":     `has the time "2030-02-30T08:00:00Z", but must be ` + form,
		"@at 2030-01-31T08:00:00.5Z":   `has the time "2030-01-31T08:00:00.5Z", which must be whole seconds`,
		"@at 0000-01-31T08:00:00Z":     `has the time "0000-01-31T08:00:00Z", which must be in the years 1 to 9999, in UTC`,
	} {
		s, err := schedule.Parse(spec, nil, "job")
		require.EqualError(t, err, want, "%q", spec)
		require.Nil(t, s)
	}
	for _, hashed := range []string{"HH", "H5", "H()", "H(5)", "H(5-1)", "H(0-60)", "H(0-5", "H0-5)"} {
		_, err := schedule.Parse(hashed+" * * * *", nil, "job")
		require.EqualError(t, err, `has "`+hashed+`" in the minute field: must be H, H/STEP, H(LOW-HIGH) or H(LOW-HIGH)/STEP, with LOW and HIGH in order and from 0 to 59`)
	}
}

func TestAScheduleSaysWhatItWasMadeFrom(t *testing.T) {
	s := parse(t, " 30  2 * *\tMON ", location(t, "Europe/Berlin"))
	require.Equal(t, "30 2 * * MON", s.String())
	require.Equal(t, "Europe/Berlin", s.Location().String())
	require.Equal(t, time.UTC, parse(t, "@daily", nil).Location())
}
