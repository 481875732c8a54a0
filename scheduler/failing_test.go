package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// open returns the open tick of a job, as people see it.
func (f *fleet) open(job string) tools.Entry {
	f.t.Helper()
	people, err := tools.New(f.store)
	require.NoError(f.t, err)
	status, err := people.Status(f.t.Context(), f.jobs, job)
	require.NoError(f.t, err)
	require.Len(f.t, status.Jobs[0].Open, 1)
	return status.Jobs[0].Open[0]
}

func of(r *replica, job string) scheduler.JobStatus {
	for _, s := range r.Jobs() {
		if s.Name == job {
			return s
		}
	}
	return scheduler.JobStatus{}
}

func TestLeaderTaskThatFailsIsSeen(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var healthy atomic.Bool
		f.leader("job", func(ctx context.Context, run jobs.Run) error {
			if healthy.Load() {
				return leads(ctx, run)
			}
			if err := takes(3*time.Second)(ctx, run); err != nil {
				return err
			}
			return errWork
		}, retries(1, time.Second))
		r := f.start("a")
		for minute := range 8 {
			f.sleepTo(time.Duration(minute+1) * time.Minute)
			e := f.open("job")
			require.True(t, e.Held(), e.State)
			require.NotNil(t, e.Failing)
			require.Equal(t, errWork.Error(), e.Error)
			require.Greater(t, e.Failing.Failures, minute)
			require.WithinDuration(t, at(5*time.Second), e.Failing.Since, 5*time.Second)
			require.Equal(t, e.Failing.Since, of(r, "job").FailingSince)
		}
		require.Greater(t, f.open("job").Failing.Failures, 40)
		healthy.Store(true)
		f.sleepTo(12 * time.Minute)
		require.NotNil(t, f.open("job").Failing)
		f.sleepTo(14 * time.Minute)
		require.Nil(t, f.open("job").Failing, "it has run for 5 min")
		require.Zero(t, of(r, "job").FailingSince)
	})
}

func TestWaitForTheNextAttemptIsSeen(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(_ context.Context, run jobs.Run) error {
			if run.Attempt < 2 {
				return errWork
			}
			return takes(time.Minute)(f.t.Context(), run)
		}, jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: 40 * time.Second, MaxBackoff: 40 * time.Second}))
		f.sleepTo(59 * time.Minute)
		r := f.start("a")
		f.sleepTo(time.Hour + 10*time.Second)
		e := f.open("job")
		require.Equal(t, wire.StateRetrying, e.State)
		require.Equal(t, 1, e.Attempts)
		require.Equal(t, errWork.Error(), e.Error)
		require.WithinDuration(t, at(time.Hour), e.Failing.Since, time.Second)
		require.WithinDuration(t, at(time.Hour+30*time.Second), e.Failing.Next, 11*time.Second)
		require.Zero(t, of(r, "job").FailingSince, "it may be well the next time")

		f.sleepTo(time.Hour + 55*time.Second)
		e = f.open("job")
		require.Equal(t, wire.StateRunning, e.State)
		require.Equal(t, 2, e.Attempts)
		f.sleepTo(time.Hour + 10*time.Minute)
		require.Zero(t, of(r, "job").FailingSince)
		require.WithinDuration(t, at(time.Hour+100*time.Second), of(r, "job").LastSuccess, 20*time.Second)
	})
}

func TestNextReplicaKnowsHowTheLastRunEnded(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var healthy atomic.Bool
		f.job("job", "@every 1h", func(context.Context, jobs.Run) error {
			if healthy.Load() {
				return nil
			}
			return errWork
		})
		f.sleepTo(59 * time.Minute)
		a := f.start("a")
		f.sleepTo(time.Hour + time.Minute)
		f.halt(a)
		f.sleepTo(2*time.Hour - 2*time.Minute)
		b := f.start("b")
		f.sleepTo(2*time.Hour - time.Minute)
		require.WithinDuration(t, at(time.Hour), of(b, "job").LastFailure, time.Second)
		require.Zero(t, of(b, "job").LastSuccess)
		healthy.Store(true)
		f.sleepTo(2*time.Hour + time.Minute)
		require.WithinDuration(t, at(2*time.Hour), of(b, "job").LastSuccess, time.Second)
		f.halt(b)
		c := f.start("c")
		f.sleepTo(2*time.Hour + 2*time.Minute)
		require.WithinDuration(t, at(2*time.Hour), of(c, "job").LastSuccess, time.Second)
		require.Zero(t, of(c, "job").LastFailure)
	})
}
