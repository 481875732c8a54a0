package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestRevisionTellsDefinitionsApart(t *testing.T) {
	made := func(schedule string, options ...jobs.Option) *jobs.Job {
		j, err := jobs.New("job", schedule, func(context.Context, jobs.Run) error { return nil }, options...)
		require.NoError(t, err)
		return j
	}
	one := made("@hourly")
	require.Equal(t, one.Revision(), made("@hourly").Revision())
	require.Equal(t, one.Revision(), made("@hourly", jobs.WithTimezone("UTC"), jobs.WithGroups()).Revision(), "they mean the same")
	require.Len(t, one.Revision(), 12)
	seen := map[string]bool{one.Revision(): true}
	for _, other := range []*jobs.Job{
		made("@daily"), made("@hourly", jobs.WithTimezone("Europe/Berlin")), made("@hourly", jobs.WithTimeout(time.Second)),
		made("@hourly", func(s *jobs.Spec) { s.Definition = "command" }),
		made("@hourly", jobs.WithRate(jobs.Rate{Count: 1, Per: time.Hour}, 2)),
	} {
		require.False(t, seen[other.Revision()])
		seen[other.Revision()] = true
	}
	require.Equal(t, one.ScheduleRevision(), made("@hourly", jobs.WithTimeout(time.Second)).ScheduleRevision())
	require.NotEqual(t, one.ScheduleRevision(), made("@daily").ScheduleRevision())
	require.NotEqual(t, one.ScheduleRevision(), made("@hourly", jobs.WithTimezone("Europe/Berlin")).ScheduleRevision())
}
