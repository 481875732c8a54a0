package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/schedule"
)

// TestHashedTimesNeverChange pins what H stands for. A fleet whose replicas run two releases relies
// on it, so what this test expects must never be edited.
func TestHashedTimesNeverChange(t *testing.T) {
	for _, tc := range []struct{ job, spec, want string }{
		{"nightly-report", "H H * * *", "2030-01-01T22:59:00Z 2030-01-02T22:59:00Z"},
		{"nightly-report", "H H H H * *", "2030-01-11T22:59:07Z 2030-02-11T22:59:07Z"},
		{"nightly-report", "H H H H H *", "2030-09-11T22:59:07Z 2031-09-11T22:59:07Z"},
		{"nightly-report", "H H * * H", "2030-01-05T22:59:00Z 2030-01-12T22:59:00Z"},
		{"nightly-report", "H/15 * * * *", "2030-01-01T00:14:00Z 2030-01-01T00:29:00Z"},
		{"nightly-report", "H(0-29)/10 * * * *", "2030-01-01T00:09:00Z 2030-01-01T00:19:00Z"},
		{"nightly-report", "H(0-29) H(2-4) * * *", "2030-01-01T03:29:00Z 2030-01-02T03:29:00Z"},
		{"nightly-reporu", "H H * * *", "2030-01-01T09:20:00Z 2030-01-02T09:20:00Z"},
		{"", "H H * * *", "2030-01-01T16:11:00Z 2030-01-02T16:11:00Z"},
	} {
		s, err := schedule.Parse(tc.spec, nil, tc.job)
		require.NoError(t, err)
		first := s.Next(time.Date(2029, 12, 31, 23, 59, 59, 0, time.UTC))
		got := first.Format(time.RFC3339) + " " + s.Next(first).Format(time.RFC3339)
		require.Equal(t, tc.want, got, "%q of job %q", tc.spec, tc.job)
	}
}

func TestHashedTimesSpreadEvenlyOverTheirRange(t *testing.T) {
	const jobs = 6000
	perMinute, perStart := map[int]int{}, map[int]int{}
	for i := range jobs {
		from := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second)
		daily, err := schedule.Parse("H 0 * * *", nil, fmt.Sprint("job-", i))
		require.NoError(t, err)
		perMinute[daily.Next(from).Minute()]++
		quarterly, err := schedule.Parse("H(20-59)/15 0 * * *", nil, fmt.Sprint("job-", i))
		require.NoError(t, err)
		perStart[quarterly.Next(from).Minute()]++
	}
	require.Len(t, perMinute, 60)
	for minute, n := range perMinute {
		require.InDelta(t, jobs/60, n, 50, "jobs in minute %d", minute)
	}
	require.Len(t, perStart, 15)
	for minute, n := range perStart {
		require.GreaterOrEqual(t, minute, 20)
		require.Less(t, minute, 35)
		require.InDelta(t, jobs/15, n, 100, "jobs that start in minute %d", minute)
	}
}

func TestHashedFieldsDoNotFollowEachOther(t *testing.T) {
	seen := map[string]bool{}
	for i := range 500 {
		s, err := schedule.Parse("H H * * *", nil, fmt.Sprint(i))
		require.NoError(t, err)
		seen[s.Next(time.Time{}).Format("15:04")] = true
	}
	// 500 draws out of 1440 times of day meet some 420 different ones; 60 would mean that the hour
	// follows the minute.
	require.Greater(t, len(seen), 350)
}

func TestHashedDaysExistInEveryMonth(t *testing.T) {
	for i := range 200 {
		s, err := schedule.Parse("0 0 H * *", nil, strings.Repeat("x", i))
		require.NoError(t, err)
		require.Len(t, ticksBetween(s, time.Date(2029, 12, 31, 12, 0, 0, 0, time.UTC), time.Date(2030, 12, 31, 12, 0, 0, 0, time.UTC)), 12)
	}
}
