package scheduler_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

var errWork = errors.New("the work failed")

func retries(n int, backoff time.Duration) jobs.Option {
	return jobs.WithRetry(jobs.Retry{MaxAttempts: n, Backoff: backoff, MaxBackoff: backoff})
}

func TestEachAttemptIsRecordedBeforeItIsMade(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var recorded []int
		f.job("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
			record, err := f.store.Inspect(ctx, "job")
			require.NoError(t, err)
			require.Len(t, record.Open, 1)
			require.Equal(t, run.Token, record.Open[0].Token)
			recorded = append(recorded, record.Open[0].Attempt)
			return errWork
		}, retries(3, 10*time.Second))
		f.sleepTo(59 * time.Minute)
		f.startMany(3)
		f.sleepTo(time.Hour + time.Minute)
		require.Equal(t, []int{1, 2, 3}, recorded)
		runs := f.runs.of("job")
		require.Len(t, runs, 3)
		require.Equal(t, runs[0].Token, runs[2].Token, "under one lease")
		require.Equal(t, runs[0].Replica, runs[2].Replica)
		require.Equal(t, map[protocol.Outcome]int{"failed": 1}, f.fates("job"))

		retried, _ := eventsOf[scheduler.RunRetried](f)
		require.Len(t, retried, 2)
		require.Equal(t, 1, retried[0].Run.Attempt)
		settled, _ := eventsOf[scheduler.RunSettled](f)
		require.Len(t, settled, 1)
		require.Equal(t, 3, settled[0].Run.Attempt)
		require.ErrorIs(t, settled[0].Err, errWork)
	})
}

func TestTakeoverCountsOnFromTheRetriesBeforeIt(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
			if run.Attempt == 2 {
				return takes(time.Minute)(ctx, run)
			}
			return errWork
		}, retries(4, 10*time.Second))
		f.sleepTo(59 * time.Minute)
		f.startMany(3)
		f.sleepTo(time.Hour + 25*time.Second)
		held := f.runs.running("job")
		require.Len(t, held, 1)
		require.Equal(t, 2, held[0].Attempt)
		f.replica(held[0].Replica).link.cut()
		f.sleepTo(time.Hour + 2*time.Minute)
		runs := f.runs.of("job")
		require.Len(t, runs, 4)
		for i, run := range runs {
			require.Equal(t, i+1, run.Attempt)
		}
		require.Greater(t, runs[2].Token, runs[1].Token)
		require.Equal(t, runs[3].Token, runs[2].Token)
		require.Equal(t, map[protocol.Outcome]int{"failed": 1}, f.fates("job"))
	})
}

func TestATimeoutFailsTheRun(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Hour), jobs.WithTimeout(2*time.Second))
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		settled, _ := eventsOf[scheduler.RunSettled](f)
		require.Len(t, settled, 1)
		require.Equal(t, wire.Failed, settled[0].Outcome)
		require.ErrorIs(t, settled[0].Err, jobs.ErrTimeout)
		require.Equal(t, 2*time.Second, settled[0].Took)
		f.sleepTo(25 * time.Second)
		require.Equal(t, "10s, 20s", f.story("job"))
	})
}

func TestHandlerThatPanicsOrExitsFailsTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		handler jobs.Handler
		is      func(error) bool
	}{
		"panic": {func(context.Context, jobs.Run) error { panic("oh") }, func(err error) bool {
			_, ok := errors.AsType[*jobs.PanicError](err)
			return ok
		}},
		"Goexit": {func(context.Context, jobs.Run) error { runtime.Goexit(); return nil }, func(err error) bool {
			return errors.Is(err, jobs.ErrGoexit)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 10s", test.handler)
				f.startMany(3)
				f.sleepTo(25 * time.Second)
				require.Equal(t, "10s, 20s", f.story("job"))
				require.Equal(t, map[protocol.Outcome]int{"failed": 2}, f.fates("job"))
				settled, _ := eventsOf[scheduler.RunSettled](f)
				require.Len(t, settled, 2)
				require.True(t, test.is(settled[0].Err), "%v", settled[0].Err)
			})
		})
	}
}

func TestRunKnowsItsTickAttemptAndToken(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", func(ctx context.Context, run jobs.Run) error {
			inContext, ok := jobs.FromContext(ctx)
			require.True(t, ok)
			require.Equal(t, run, inContext)
			require.True(t, run.Lease.Valid())
			require.Equal(t, ttl-ttl/20, time.Until(run.Lease.Deadline()))
			renewed := make(chan time.Time, 10)
			stop := run.Lease.OnRenewal(func(deadline time.Time) { renewed <- deadline })
			defer stop()
			require.Greater(t, time.Until(<-renewed), ttl*9/10)
			return nil
		}, jobs.WithTimezone("Europe/Berlin"))
		f.start("a")
		f.sleepTo(15 * time.Second)
		runs := f.runs.of("job")
		require.Len(t, runs, 1)
		run := runs[0].Run
		run.Lease = nil
		require.Equal(t, jobs.Run{
			Namespace: "default", Job: "job", Replica: "a", Tick: epoch.Add(10 * time.Second),
			Token: epoch.Add(10 * time.Second).UnixMicro(), Attempt: 1,
		}, run)
		require.Equal(t, "default/job/946684810000", run.TickID())

		started, _ := eventsOf[scheduler.RunStarted](f)
		require.Len(t, started, 1)
		require.Zero(t, started[0].Lag)
		settled, _ := eventsOf[scheduler.RunSettled](f)
		require.Len(t, settled, 1)
		require.NoError(t, settled[0].Err)
		require.Equal(t, settled[0].Took, settled[0].Held)
	})
}

// TestGrantWithoutAReplyUsesNoAttempt: the reply to a claim was lost, and by the time it is asked
// for again the lease has as good as run out, or has.
func TestGrantWithoutAReplyUsesNoAttempt(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(time.Second), jobs.WithDelivery(jobs.AtMostOnce))
		f.sleepTo(59 * time.Minute)
		r := f.start("a")
		f.sleepTo(time.Hour - time.Second)
		claims := 0
		r.link.set(func(c call) fault {
			if c.verb == verbClaim {
				claims++
			}
			return fault{lost: claims == 1, cut: claims > 1}
		})
		f.sleepTo(time.Hour + 2*ttl)
		r.link.heal()
		require.GreaterOrEqual(t, claims, 2, "it has been asked for again")
		f.sleepTo(time.Hour + time.Minute)
		runs := f.runs.of("job")
		require.Len(t, runs, 1)
		require.Equal(t, 1, runs[0].Attempt)
		require.NoError(t, runs[0].err)
	})
}
