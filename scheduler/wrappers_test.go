package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// witness writes down what it is around.
type witness struct {
	mu   sync.Mutex
	seen []string
}

func (w *witness) wrap(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		err := next(ctx, run)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, fmt.Sprintf("%s #%d: %v", run.Job, run.Attempt, err))
		return err
	}
}

func TestWrappersSeeRetriesTakeoversAndLeaderTasks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		twice := jobs.WithRetry(jobs.Retry{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Second})
		f.job("fails", "@every 10s", func(context.Context, jobs.Run) error { return fmt.Errorf("no") }, twice)
		f.job("freezes", "@every 1m", takes(5*time.Second))
		f.leader("task", func(ctx context.Context, _ jobs.Run) error { <-ctx.Done(); return context.Cause(ctx) })
		var w witness
		f.start("a", scheduler.WithWrappers(w.wrap))
		f.sleepTo(15 * time.Second)
		w.mu.Lock()
		require.Equal(t, []string{"fails #1: no", "fails #2: no"}, w.seen)
		w.seen = nil
		w.mu.Unlock()
		f.sleepTo(time.Minute - time.Second)
		f.start("b", scheduler.WithWrappers(w.wrap))
		f.sleepTo(time.Minute + 2*time.Second)
		w.mu.Lock()
		w.seen = nil
		w.mu.Unlock()
		holder := f.runs.of("freezes")[0].Replica
		f.replica(holder).link.cut()
		f.sleepTo(time.Minute + 20*time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Contains(t, strings.Join(w.seen, ","), "freezes #1: lease: lost \"freezes\"")
		require.Contains(t, w.seen, "freezes #2: <nil>", "%v", w.seen)
	})
}

func TestLeaderTaskIsCalledInsideWrappers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("task", func(context.Context, jobs.Run) error { panic("no") })
		var w witness
		f.start("a", scheduler.WithWrappers(w.wrap))
		f.sleepTo(5 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Contains(t, w.seen, "task #1: panic: no")
		require.Contains(t, w.seen, "task #2: panic: no")
	})
}

func TestNilWrapperIsRefused(t *testing.T) {
	_, err := scheduler.New(new(memlease.Store), nil, scheduler.WithWrappers(new(witness).wrap, nil))
	require.EqualError(t, err, "scheduler: wrappers[1]: nil must be a function")
}
