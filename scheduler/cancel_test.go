package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

func (f *fleet) cancel(job string, tick time.Time) protocol.CancelStatus {
	f.t.Helper()
	a, err := f.store.Cancel(context.Background(), protocol.Cancel{Name: job, Tick: tick.UnixMilli(), By: "ops"})
	require.NoError(f.t, err)
	return a.Status
}

func TestACancelledRunEndsAtOnce(t *testing.T) {
	for name, start := range map[string]func(*fleet, string) *replica{
		"notified": func(f *fleet, id string) *replica { return f.start(id) },
		"at its next renewal, of a store that cannot notify": func(f *fleet, id string) *replica { return f.startDisconnected(id) },
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 30s", takes(time.Hour), jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: time.Second}))
				for _, id := range []string{"a", "b", "c"} {
					start(f, id)
				}
				f.sleepTo(40 * time.Second)
				require.Equal(t, protocol.CancelPending, f.cancel("job", at(30*time.Second)))
				f.sleepTo(59 * time.Second)
				runs := f.runs.of("job")
				require.Len(t, runs, 1, "it is neither retried nor taken over")
				require.ErrorIs(t, runs[0].cause, protocol.ErrCancelled)
				within := ttl/3 + ttl/10
				if name == "notified" {
					within = 0
				}
				require.LessOrEqual(t, runs[0].cancelled.Sub(at(40*time.Second)), within)
				outcome, note := f.noteOf("job", at(30*time.Second))
				require.Equal(t, wire.Cancelled, outcome)
				require.GreaterOrEqual(t, note.Ended, at(40*time.Second))
				require.Positive(t, note.Renewals)
				require.Positive(t, note.Margin)
				note.Ended, note.Renewals, note.Margin, note.Margins = time.Time{}, 0, 0, nil
				require.Equal(t, wire.Note{Started: at(30 * time.Second), By: "ops", Error: "lease: cancelled by ops"}, note)
				settled, _ := eventsOf[scheduler.RunSettled](f)
				require.Len(t, settled, 1)
				require.Equal(t, "ops", settled[0].By)
				require.Equal(t, protocol.CancelSettled, f.cancel("job", at(30*time.Second)))
				f.sleepTo(61 * time.Second)
				require.Len(t, f.runs.of("job"), 2, "the next tick is not concerned")
			})
		})
	}
}

func TestCancelEndsTheBackOffOfARetry(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 5m", func(context.Context, jobs.Run) error { return errors.New("no luck") },
			jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: time.Minute, MaxBackoff: time.Minute}))
		f.startMany(2)
		f.sleepTo(5*time.Minute + time.Second)
		require.Equal(t, protocol.CancelPending, f.cancel("job", at(5*time.Minute)))
		f.sleepTo(5*time.Minute + 2*time.Second)
		outcome, note := f.noteOf("job", at(5*time.Minute))
		require.Equal(t, wire.Cancelled, outcome)
		require.Equal(t, "ops", note.By)
		require.Contains(t, note.Error, "no luck")
		f.sleepTo(9 * time.Minute)
		require.Len(t, f.runs.of("job"), 1)
	})
}

func TestCancelledTickOfDeadHolderIsNotRun(t *testing.T) {
	for name, delivery := range map[string]jobs.Delivery{"at least once": jobs.AtLeastOnce, "at most once": jobs.AtMostOnce} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 30s", takes(time.Hour), jobs.WithDelivery(delivery))
				f.startMany(3)
				f.sleepTo(40 * time.Second)
				f.replica(f.runs.running("job")[0].Replica).link.cut()
				require.Equal(t, protocol.CancelPending, f.cancel("job", at(30*time.Second)))
				f.sleepTo(59 * time.Second)
				require.Len(t, f.runs.of("job"), 1)
				outcome, note := f.noteOf("job", at(30*time.Second))
				require.Equal(t, wire.Cancelled, outcome)
				require.Equal(t, wire.Note{Reason: wire.ReasonCancelled, By: "ops"}, note)
				require.Equal(t, map[string]int{"cancelled cancelled": 1}, f.passed("job"), "counted once")
				f.sleepTo(61 * time.Second)
				require.Len(t, f.runs.of("job"), 2)
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestCancelledRunThatReturnsNilIsCancelled(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 30s", func(ctx context.Context, run jobs.Run) error {
			_ = takes(time.Hour)(ctx, run)
			return nil
		}, jobs.WithDelivery(jobs.AtMostOnce))
		f.startMany(2)
		f.sleepTo(40 * time.Second)
		f.cancel("job", at(30*time.Second))
		f.sleepTo(41 * time.Second)
		require.Equal(t, map[protocol.Outcome]int{"cancelled": 1}, f.fates("job"))
	})
}

func TestStoppedCancelledRunIsNotRunElsewhere(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 30s", func(ctx context.Context, run jobs.Run) error {
			<-ctx.Done()
			time.Sleep(time.Second) // it is stopped before it has returned
			return context.Cause(ctx)
		})
		f.startMany(3, scheduler.WithShutdownGrace(0))
		f.sleepTo(40 * time.Second)
		holder, _ := f.holder("job")
		go f.halt(holder)
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, protocol.CancelPending, f.cancel("job", at(30*time.Second)))
		f.sleepTo(50 * time.Second)
		require.Len(t, f.runs.of("job"), 1)
		outcome, note := f.noteOf("job", at(30*time.Second))
		require.Equal(t, wire.Cancelled, outcome)
		require.Equal(t, "ops", note.By)
	})
}

func TestAQueuedTickThatIsCancelledNeverRuns(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(15*time.Second), queued)
		f.startMany(3)
		f.sleepTo(21 * time.Second)
		require.Equal(t, protocol.CancelSettled, f.cancel("job", at(20*time.Second)))
		f.sleepTo(39 * time.Second)
		var ran []time.Time
		for _, run := range f.runs.of("job") {
			ran = append(ran, run.Tick.UTC())
		}
		require.Equal(t, []time.Time{at(10 * time.Second), at(30 * time.Second)}, ran)
	})
}
