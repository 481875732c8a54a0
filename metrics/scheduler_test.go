package metrics_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

func TestSixHoursOfASchedulerAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hourly, err := jobs.New("hourly", "@hourly", func(context.Context, jobs.Run) error {
			time.Sleep(time.Minute)
			return nil
		})
		require.NoError(t, err)
		broken, err := jobs.New("broken", "0 */2 * * *", func(context.Context, jobs.Run) error {
			return errors.New("no")
		}, jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Second}))
		require.NoError(t, err)
		var registry jobs.Registry
		require.NoError(t, registry.Add(hourly, broken))

		m := metrics.New(metrics.WithJobHistograms())
		s, err := scheduler.New(new(memlease.Store), &registry, scheduler.WithSyncObserver(m.Observe))
		require.NoError(t, err)
		m.Watch(s)
		ctx, stop := context.WithTimeout(t.Context(), 6*time.Hour+30*time.Second)
		defer stop()
		require.NoError(t, s.Run(ctx)) // which waits for the run of the last hour

		text := gathered(t, m)
		for _, line := range []string{
			`solotick_ticks_total{job="hourly",outcome="succeeded"} 6`,
			`solotick_ticks_total{job="broken",outcome="failed"} 3`,
			`solotick_run_retries_total{job="broken"} 6`,
			`solotick_claims_total{job="hourly",result="granted"} 6`,
			`solotick_run_duration_seconds_sum{job="hourly"} 360`,
			`solotick_tick_lag_seconds_count{job="broken"} 3`,
			`solotick_runs_in_progress{job="hourly"} 0`,
			`solotick_takeovers_total{job="hourly"} 0`,
			`solotick_leases_held 0`,
			`solotick_clock_offset_seconds 0`,
			`solotick_store_up 1`,
		} {
			require.Contains(t, text, line+"\n")
		}
	})
}
