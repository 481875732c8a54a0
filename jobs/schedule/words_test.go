package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/jobs/schedule"
)

func TestWordsOfUsualSchedules(t *testing.T) {
	for spec, words := range map[string]string{
		"0 2 * * *":                "every day at 02:00",
		"@daily":                   "every day at 00:00",
		"30 0 2 * * *":             "every day at 02:00:30",
		"0 9,17 * * *":             "every day at 09:00 and 17:00",
		"0,30 9,17 * * *":          "every day at 09:00, 09:30, 17:00 and 17:30",
		"0 */12 * * *":             "every 12 hours",
		"0 0,12 * * *":             "every day at 00:00 and 12:00",
		"* * * * *":                "every minute",
		"*/15 * * * *":             "every 15 minutes",
		"5-59/15 * * * *":          "every 15 minutes from minute 5 on",
		"5,10,42 * * * *":          "every hour at minutes 5, 10 and 42",
		"@hourly":                  "every hour",
		"5 * * * *":                "every hour at minute 5",
		"0 */6 * * *":              "every 6 hours",
		"30 1/2 * * *":             "every 2 hours from 01:30 on",
		"0 9-17 * * *":             "every hour from 09:00 to 17:00",
		"*/15 9-17 * * *":          "every 15 minutes from 09:00 to 17:45",
		"*/30 8-11,14-17 * * 1-5":  "every 30 minutes from 08:00 to 11:30 and from 14:00 to 17:30 on weekdays",
		"* * * * * *":              "every second",
		"*/10 * * * * *":           "every 10 seconds",
		"30 * * * * *":             "every minute at second 30",
		"30 9 * * 1-5":             "on weekdays at 09:30",
		"30 9 * * SAT,SUN":         "on weekends at 09:30",
		"0 0 * * 0":                "on Sundays at 00:00",
		"0 0 * * MON,WED,7":        "on Mondays, Wednesdays and Sundays at 00:00",
		"0 0 * * 0-6":              "every day at 00:00",
		"0 0 1 * *":                "on day 1 of every month at 00:00",
		"0 0 1,15 * *":             "on days 1 and 15 of every month at 00:00",
		"0 0 1-7 * *":              "on days 1 to 7 of every month at 00:00",
		"0 0 L * *":                "on the last day of every month at 00:00",
		"0 0 LW * *":               "on the last weekday of every month at 00:00",
		"0 0 15W * *":              "on the weekday nearest to day 15 of every month at 00:00",
		"0 0 * * FRIL":             "on the last Friday of every month at 00:00",
		"0 0 * * FRI#2":            "on the second Friday of every month at 00:00",
		"0 0 * 3 FRI#2":            "on the second Friday of March at 00:00",
		"0 0 13 * FRI":             "on day 13 of every month and on Fridays at 00:00",
		"@yearly":                  "on day 1 of January at 00:00",
		"0 0 1 */3 *":              "on day 1 of January, April, July and October at 00:00",
		"0 0 * 3-5 *":              "every day in March to May at 00:00",
		"0 0 * 12 MON":             "on Mondays in December at 00:00",
		"*/5 * * 12 *":             "every 5 minutes in December",
		"@every 90s":               "every 90 seconds",
		"@every 15m":               "every 15 minutes",
		"@every 1h":                "every hour",
		"@every 24h":               "every 24 hours",
		"@every 1h offset 5m":      "every hour, shifted by 5 minutes",
		"@at 2030-01-31T08:00:00Z": "once, at 2030-01-31 08:00:00 UTC",
		"H 2 * * *":                "every day at 02:57",
		// These would need a long sentence.
		"0 */7 * * *":             "every day at 00:00, 07:00, 14:00 and 21:00",
		"*/7 * * * *":             "*/7 * * * *",
		"1,2,7,9,13 * * * *":      "1,2,7,9,13 * * * *",
		"*/10 30 * * * *":         "*/10 30 * * * *",
		"0 0 */2 * *":             "0 0 */2 * *",
		"*/15 0-2,5,8,11 * * *":   "*/15 0-2,5,8,11 * * *",
		"0 0 13 3 FRI":            "0 0 13 3 FRI",
		"0 0 * * MON,FRI#2":       "0 0 * * MON,FRI#2",
		"0 0 * 1,3,5,7,8,10,12 *": "0 0 * 1,3,5,7,8,10,12 *",
	} {
		t.Run(spec, func(t *testing.T) {
			s, err := schedule.Parse(spec, time.UTC, "job")
			require.NoError(t, err)
			assert.Equal(t, words, s.Words(nil))
		})
	}
}

// In a zone other than UTC, words tell apart what is the same in UTC.
func TestWordsSayWhatAZoneMakesOfThem(t *testing.T) {
	for _, c := range []struct{ zone, spec, words string }{
		{"Asia/Kolkata", "@every 1h", "every hour, by UTC"},
		{"Asia/Kolkata", "0 * * * *", "every hour"},
		{"Asia/Kolkata", "@every 15m", "every 15 minutes"},
		{"Europe/Berlin", "@every 2h", "every 2 hours, by UTC"},
		{"Europe/Berlin", "0 */2 * * *", "every 2 hours"},
		{"Europe/Berlin", "0 0-22/2 * * *", "every 2 hours, at fixed times"},
		{"Europe/Berlin", "0 2 * * *", "every day at 02:00"},
		{"Europe/Berlin", "*/60 2 * * *", "every day at 02:00, as a wildcard"},
		{"Europe/Berlin", "0 9-17 * * *", "every hour from 09:00 to 17:00"},
		{"UTC", "0 0-22/2 * * *", "every 2 hours"},
	} {
		zone, err := time.LoadLocation(c.zone)
		require.NoError(t, err)
		s, err := schedule.Parse(c.spec, zone, "job")
		require.NoError(t, err)
		assert.Equal(t, c.words, s.Words(nil), "%s in %s", c.spec, c.zone)
	}
}

func TestWordsInAnotherLanguage(t *testing.T) {
	chinese := map[string]string{
		"every %s minutes": "每 %s 分钟", "on weekdays": "工作日", "%[1]s %[2]s": "%[2]s%[1]s", "from %[1]s to %[2]s": " %[1]s 至 %[2]s ",
	}
	s, err := schedule.Parse("*/15 9-17 * * 1-5", time.UTC, "job")
	require.NoError(t, err)
	assert.Equal(t, "工作日 09:00 至 17:45 每 15 分钟", s.Words(func(phrase string) string { return chinese[phrase] }))
}

// Words that fit two schedules would be wrong of one.
func TestEqualWordsMeanEqualTicks(t *testing.T) {
	field := func(values ...string) *rapid.Generator[string] {
		item := rapid.SampledFrom(values)
		return rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfNDistinct(item, 1, 2, rapid.ID[string]).Draw(t, "items"), ",")
		})
	}
	minutes := field("*", "0", "*/60", "0-45/15", "5", "30", "*/15", "*/20", "5/15", "0-59", "0,30", "1-3", "10-50/20")
	hours := field("*", "0", "2", "0-22/2", "*/2", "9-17", "*/6", "1/6", "*/12", "0-23", "22-23")
	doms := field("*", "1", "15", "1-7", "L", "LW", "15W", "1-31", "*/2")
	months := field("*", "1", "3", "1-12", "3-5", "*/3")
	dows := field("*", "0", "7", "MON", "1-5", "SAT,SUN", "0-6", "FRIL", "FRI#2", "*/2")
	periods := rapid.SampledFrom([]string{"30s", "1m", "15m", "20m", "30m", "1h", "2h", "6h", "12h", "1h offset 30m"})
	seen := map[string]*schedule.Schedule{}
	from := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		spec := strings.Join([]string{
			minutes.Draw(t, "minute"), hours.Draw(t, "hour"), doms.Draw(t, "day"), months.Draw(t, "month"), dows.Draw(t, "weekday"),
		}, " ")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			spec = "@every " + periods.Draw(t, "period")
		case 1: // most often all days
			spec = minutes.Draw(t, "every minute") + " " + hours.Draw(t, "every hour") + " * * *"
		}
		zone, err := time.LoadLocation(rapid.SampledFrom([]string{
			"UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
		}).Draw(t, "zone"))
		require.NoError(t, err)
		s, err := schedule.Parse(spec, zone, "job")
		if err != nil {
			return // it never ticks
		}
		words := s.Words(nil) + " in " + zone.String()
		other, ok := seen[words]
		if !ok {
			seen[words] = s
			return
		}
		at := from
		for at.Before(from.AddDate(1, 0, 0)) && !at.IsZero() {
			if mine, its := s.Next(at), other.Next(at); !mine.Equal(its) {
				t.Fatalf("%q and %q are both %q; after %s they tick at %s and %s", s, other, words, at, mine, its)
			}
			at = s.Next(at)
			if s.MinInterval() < time.Hour && !changesSoon(at, zone) { // a minute of every third hour is enough
				at = at.Add(3*time.Hour - 7*time.Minute)
			}
		}
	})
}

// changesSoon reports whether the clocks of a zone change within half a day, before or after.
func changesSoon(at time.Time, zone *time.Location) bool {
	_, before := at.Add(-12 * time.Hour).In(zone).Zone()
	_, after := at.Add(12 * time.Hour).In(zone).Zone()
	return before != after
}
