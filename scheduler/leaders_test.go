package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

func TestALeadersPauseOutlivesTheStore(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		f.sleepTo(10 * time.Second)
		f.pause("job")
		f.sleepTo(20 * time.Second)
		f.halt(f.leading("job"))
		f.sleepTo(40 * time.Second)
		require.Len(t, f.runs.of("job"), 1)
		f.store.Forget()
		f.sleepTo(90 * time.Second)
		require.Len(t, f.runs.of("job"), 1, "it is paused")
	})
}

func TestALeaderTaskWithoutBackoffDoesNotSpin(t *testing.T) {
	var n atomic.Int64
	job, err := jobs.New("l", "", func(context.Context, jobs.Run) error { n.Add(1); return errors.New("x") }, jobs.WithLeader(),
		func(s *jobs.Spec) { s.Retry.Backoff, s.Retry.MaxBackoff = 0, 0 })
	require.NoError(t, err)
	var r jobs.Registry
	require.NoError(t, r.Add(job))
	s, err := scheduler.New(new(memlease.Store), &r)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	require.NoError(t, s.Run(ctx))
	require.Less(t, n.Load(), int64(100))
}

// earless is a store whose Watch fails while it is earless, and listens again when it is not.
type earless struct {
	*audit
	until time.Time
	from  time.Time
}

func (d *earless) Watch(ctx context.Context, wake func(string, int64)) error {
	if now := time.Now(); now.Before(d.from) {
		limited, cancel := context.WithDeadline(ctx, d.from)
		defer cancel()
		return d.audit.Watch(limited, wake)
	} else if now.Before(d.until) {
		time.Sleep(time.Until(d.until))
	}
	return d.audit.Watch(ctx, wake)
}

func TestALeaderIsFollowedAtOnceByWhoListensAgain(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		a := f.start("a", scheduler.WithTerm(10*time.Minute))
		f.sleepTo(5 * time.Second)
		var registry jobs.Registry
		require.NoError(t, registry.Add(f.jobs...))
		b, err := scheduler.New(&earless{audit: f.store, from: at(8 * time.Second), until: at(20 * time.Second)}, &registry,
			scheduler.WithReplica("b"), scheduler.WithTerm(10*time.Minute))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = b.Run(ctx) }()
		f.sleepTo(10 * time.Second)
		f.halt(a) // nobody tells b
		f.sleepTo(30 * time.Second)
		n := len(f.runs.of("job"))
		stop()
		<-done
		require.Equal(t, 2, n, "b listens again since 20s")
	})
}
