package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestOptionsChangeWhatTheySayAndNothingElse(t *testing.T) {
	retry := jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Hour}
	for name, test := range map[string]struct {
		option jobs.Option
		change func(*jobs.Spec)
	}{
		"WithTimezone":     {jobs.WithTimezone("Europe/Berlin"), func(s *jobs.Spec) { s.Timezone = "Europe/Berlin" }},
		"WithTimeout":      {jobs.WithTimeout(time.Minute), func(s *jobs.Spec) { s.Timeout = time.Minute }},
		"WithRetry":        {jobs.WithRetry(retry), func(s *jobs.Spec) { s.Retry = retry }},
		"WithDelivery":     {jobs.WithDelivery(jobs.AtMostOnce), func(s *jobs.Spec) { s.Delivery = jobs.AtMostOnce }},
		"WithMaxTakeovers": {jobs.WithMaxTakeovers(7), func(s *jobs.Spec) { s.MaxTakeovers = 7 }},
		"WithOverlap":      {jobs.WithOverlap(jobs.Allow), func(s *jobs.Spec) { s.Overlap = jobs.Allow }},
		"WithMisfire": {jobs.WithMisfire(jobs.MisfireAll, time.Minute), func(s *jobs.Spec) {
			s.Misfire, s.MisfireGrace = jobs.MisfireAll, time.Minute
		}},
		"WithCatchUp": {jobs.WithCatchUp(2*time.Hour, 5), func(s *jobs.Spec) {
			s.CatchUpWindow, s.MaxCatchUp = 2*time.Hour, 5
		}},
		"WithJitter": {jobs.WithJitter(time.Minute), func(s *jobs.Spec) { s.Jitter = time.Minute }},
		"WithRate": {jobs.WithRate(jobs.Rate{Count: 2, Per: time.Hour}, 3), func(s *jobs.Spec) {
			s.Rate, s.Burst = jobs.Rate{Count: 2, Per: time.Hour}, 3
		}},
		"WithHistory": {jobs.WithHistory(200), func(s *jobs.Spec) { s.History = 200 }},
		"WithWeight":  {jobs.WithWeight(7), func(s *jobs.Spec) { s.Weight = 7 }},
		"WithGroups":  {jobs.WithGroups("eu", "us"), func(s *jobs.Spec) { s.Groups = []string{"eu", "us"} }},
	} {
		t.Run(name, func(t *testing.T) {
			want := validSpec()
			test.change(&want)
			require.NotEqual(t, want, validSpec(), "no change to see")
			job, err := jobs.New(want.Name, want.Schedule, func(context.Context, jobs.Run) error { return nil }, test.option)
			require.NoError(t, err)
			require.Equal(t, want, job.Spec())
		})
	}
}

func TestJobGivesBackWhatItWasMadeOf(t *testing.T) {
	done := errors.New("done")
	job, err := jobs.New("j", "@every 90s", func(context.Context, jobs.Run) error { return done })
	require.NoError(t, err)
	require.Equal(t, "j", job.Name())
	require.Equal(t, 90*time.Second, job.Schedule().MinInterval())
	require.Equal(t, done, job.Handler()(t.Context(), jobs.Run{}))
}

func TestJobIsImmutable(t *testing.T) {
	groups := []string{"eu"}
	job, err := jobs.New("j", "@hourly", func(context.Context, jobs.Run) error { return nil }, jobs.WithGroups(groups...))
	require.NoError(t, err)
	groups[0] = "changed"
	require.Equal(t, []string{"eu"}, job.Spec().Groups, "the caller's slice is not the job's")
	job.Spec().Groups[0] = "changed"
	require.Equal(t, []string{"eu"}, job.Spec().Groups, "nor is the returned one")
}

func TestScheduleOfALeaderTaskHasNoTick(t *testing.T) {
	job, err := jobs.New("indexer", "", func(context.Context, jobs.Run) error { return nil }, jobs.WithLeader())
	require.NoError(t, err)
	require.True(t, job.Spec().Leader)
	require.Empty(t, job.Spec().Schedule)
	for _, after := range []time.Time{time.UnixMilli(0), time.Now(), time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)} {
		require.Zero(t, job.Schedule().Next(after))
	}
	require.Empty(t, job.Schedule().ClockChanges(time.UnixMilli(0), time.Now()))
	require.Positive(t, job.Schedule().MinInterval())

	_, err = jobs.New("indexer", "@hourly", func(context.Context, jobs.Run) error { return nil }, jobs.WithLeader())
	require.ErrorContains(t, err, `schedule: "@hourly" must be left out of a leader task: it runs all the time`)
}
