package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// withoutNotifications is a store whose Watch fails while it is earless, and listens again when it is not.
type withoutNotifications struct {
	*audit
	until time.Time
	from  time.Time
}

func (d *withoutNotifications) Watch(ctx context.Context, wake func(string, int64)) error {
	if now := time.Now(); now.Before(d.from) {
		limited, cancel := context.WithDeadline(ctx, d.from)
		defer cancel()
		return d.audit.Watch(limited, wake)
	} else if now.Before(d.until) {
		time.Sleep(time.Until(d.until))
	}
	return d.audit.Watch(ctx, wake)
}

func TestReconnectedListenerSucceedsLeaderAtOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		a := f.start("a", scheduler.WithTTL(10*time.Minute))
		f.sleepTo(5 * time.Second)
		var registry jobs.Registry
		require.NoError(t, registry.Add(f.jobs...))
		b, err := scheduler.New(&withoutNotifications{audit: f.store, from: at(8 * time.Second), until: at(20 * time.Second)}, &registry,
			scheduler.WithReplica("b"), scheduler.WithTTL(10*time.Minute))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = b.Run(ctx) }()
		f.sleepTo(10 * time.Second)
		f.halt(a) // nobody notifies b
		f.sleepTo(30 * time.Second)
		n := len(f.runs.of("job"))
		stop()
		<-done
		require.Equal(t, 2, n, "b listens again since 20s")
	})
}
