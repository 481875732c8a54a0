package scheduler_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// runsInHistory returns the runs of a tick as people see them.
func (f *fleet) runsInHistory(job string, tick time.Time) []tools.Run {
	f.t.Helper()
	people, err := tools.New(f.store)
	require.NoError(f.t, err)
	list, err := people.History(f.t.Context(), job, 0)
	require.NoError(f.t, err)
	for _, e := range list {
		if e.Scheduled.Equal(tick) {
			return e.Runs
		}
	}
	require.Fail(f.t, "not in the history")
	return nil
}

func TestHistoryHasEveryRetryOfATick(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
			if err := takes(2*time.Second)(ctx, run); err != nil || run.Attempt == 3 {
				return err
			}
			return errWork
		}, retries(3, 10*time.Second))
		f.sleepTo(59 * time.Minute)
		f.startMany(1)
		f.sleepTo(time.Hour + time.Minute)
		runs := f.runsInHistory("job", at(time.Hour))
		require.Len(t, runs, 3)
		after := time.Duration(0)
		for i, r := range runs {
			require.Equal(t, i+1, r.Attempt)
			require.Equal(t, runs[0].Token, r.Token)
			require.NotEmpty(t, r.Replica)
			require.WithinDuration(t, at(time.Hour+after), r.Started, 6*time.Second)
			require.InDelta(t, 2000, r.Ended.Sub(r.Started).Milliseconds(), 10)
			require.False(t, i > 0 && r.Started.Before(runs[i-1].Ended.Add(5*time.Second)), "the wait before it is not part of it")
			after = r.Ended.Sub(at(time.Hour)) + 10*time.Second
		}
		require.Equal(t, []string{wire.RunRetried, wire.RunRetried, "succeeded"}, []string{runs[0].End, runs[1].End, runs[2].End})
		require.Equal(t, []string{errWork.Error(), errWork.Error(), ""}, []string{runs[0].Error, runs[1].Error, runs[2].Error})
	})
}

func TestHistoryKeepsTheNewestRetries(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const many = wire.MaxRetried + 5
		f.job("job", "@every 1h", func(context.Context, jobs.Run) error { return errWork }, retries(many, time.Second))
		f.sleepTo(59 * time.Minute)
		f.startMany(1)
		f.sleepTo(time.Hour + time.Minute)
		runs := f.runsInHistory("job", at(time.Hour))
		require.LessOrEqual(t, len(runs), wire.MaxRetried+1)
		require.Greater(t, len(runs), 4)
		for i, r := range runs {
			require.Equal(t, many-len(runs)+1+i, r.Attempt)
		}
		require.Equal(t, "failed", runs[len(runs)-1].End)
	})
}

func TestRunEndedWhileItWaitsIsListedOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(context.Context, jobs.Run) error { return errWork }, retries(3, 10*time.Minute))
		f.sleepTo(59 * time.Minute)
		f.startMany(1)
		f.sleepTo(time.Hour + time.Minute)
		require.Equal(t, protocol.CancelPending, f.cancel("job", at(time.Hour)))
		f.sleepTo(time.Hour + 2*time.Minute)
		runs := f.runsInHistory("job", at(time.Hour))
		require.Len(t, runs, 1)
		require.Equal(t, "cancelled", runs[0].End)
		require.Equal(t, 1, runs[0].Attempt)
	})
}

func TestHistoryHasTheRunsBeforeATakeover(t *testing.T) {
	for name, stop := range map[string]bool{wire.RunReleased: true, wire.RunExpired: false} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.takeover(stop, "Append") // the journal of b is lost
				f.sleepTo(2*time.Minute - time.Second)
				runs := f.runsInHistory("job", at(time.Minute))
				require.Len(t, runs, 2)
				require.Equal(t, []string{"a", "b"}, []string{runs[0].Replica, runs[1].Replica})
				require.Equal(t, []string{name, "succeeded"}, []string{runs[0].End, runs[1].End})
				require.Equal(t, []int{1, 2}, []int{runs[0].Attempt, runs[1].Attempt})
				require.Less(t, runs[0].Token, runs[1].Token)
				require.WithinDuration(t, at(time.Minute), runs[0].Started, 50*time.Millisecond)
				require.False(t, runs[1].Started.Before(runs[0].Ended))
			})
		})
	}
}

func TestHistoryHasTheLeastMarginOfRenewals(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("quick", "@every 1m", takes(0))
		f.job("slow", "@every 1m", takes(40*time.Second))
		var mu sync.Mutex
		var margins []time.Duration
		r := f.start("a", scheduler.WithSyncObserver(func(e scheduler.Event) {
			if renewed, ok := e.(scheduler.Renewed); ok {
				mu.Lock()
				defer mu.Unlock()
				margins = append(margins, renewed.Margins...)
			}
		}))
		f.sleepTo(70 * time.Second)
		r.link.cut()
		f.sleepTo(70*time.Second + ttl/2)
		r.link.heal()
		f.sleepTo(115 * time.Second)
		quick, slow := f.runsInHistory("quick", at(time.Minute)), f.runsInHistory("slow", at(time.Minute))
		require.Zero(t, quick[0].Renewals)
		require.Zero(t, quick[0].Margin)
		require.Positive(t, slow[0].Renewals)
		require.Positive(t, slow[0].Margin)
		require.Less(t, slow[0].Margin, ttl/2, "nearly lost")
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, slow[0].Margin, slices.Min(margins).Truncate(time.Millisecond), "as events say")
		require.Empty(t, quick[0].Margins)
		newest := slices.Clone(margins[max(0, len(margins)-8):])
		for i := range newest {
			newest[i] = newest[i].Truncate(time.Millisecond)
		}
		require.Equal(t, newest, slow[0].Margins, "the newest, in their order")
	})
}
