package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

func TestJobsWithSchedulesHaveNoneOfTheirOwn(t *testing.T) {
	handler := func(context.Context, jobs.Run) error { return nil }
	for _, own := range []string{"", "@stored", " @Stored"} {
		job, err := jobs.New("report", own, handler, jobs.WithSchedules(), jobs.WithJitter(time.Minute))
		require.NoError(t, err)
		require.True(t, job.Schedule().Stored())
		require.Equal(t, "UTC @stored", job.ScheduleText())
	}
	_, err := jobs.New("report", "@hourly", handler, jobs.WithSchedules())
	require.EqualError(t, err, `job "report": schedule: "@hourly" must be "" or "@stored": with jobs.WithSchedules, the job runs by schedules that lie in the store`)
	_, err = jobs.New("report", "", handler, jobs.WithLeader(), jobs.WithSchedules())
	require.EqualError(t, err, `job "report": schedule: "@stored" must be left out of a leader task: it runs all the time`)
}

func TestJobOfAKeyHasItsScheduleAndTheJobsPolicies(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	s, err := schedule.Parse("0 7 * * 1-5", shanghai, "report/acme")
	require.NoError(t, err)
	called := false
	handler := func(context.Context, jobs.Run) error { called = true; return nil }
	base, err := jobs.New("report", "", handler, jobs.WithSchedules(), jobs.WithTimeout(time.Minute), jobs.WithGroups("eu"))
	require.NoError(t, err)

	job := base.WithKey("acme", s)
	require.Equal(t, "report/acme", job.Name())
	require.Same(t, s, job.Schedule())
	require.Equal(t, "Asia/Shanghai 0 7 * * 1-5", job.ScheduleText())
	require.Equal(t, base.Revision(), job.Revision())
	require.NotEqual(t, base.ScheduleRevision(), job.ScheduleRevision())
	require.NotEqual(t, base.WithKey("other", s).ScheduleRevision(), job.ScheduleRevision())
	want := base.Spec()
	want.Name, want.Schedule, want.Timezone = "report/acme", "0 7 * * 1-5", "Asia/Shanghai"
	require.Equal(t, want, job.Spec())
	require.NoError(t, job.Handler()(t.Context(), jobs.Run{}))
	require.True(t, called)
	require.Equal(t, "report", base.Name())

	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { base.WithKey("acme", s) }), 2.0)
}
