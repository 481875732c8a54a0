package solocron_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/solocron"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest/processes"
)

// serve runs a drop-in whose only job goes on until its context ends.
func serve(ctx context.Context, r *processes.Replica) error {
	c := solocron.New(r.Client(), "drop-in", solocron.WithOptions(
		solotick.WithScheduler(scheduler.WithTTL(time.Second), scheduler.WithReplica(r.ID()))))
	_, err := c.AddHandler("job", "* * * * * *", func(ctx context.Context, run jobs.Run) error {
		if err := r.WriteOnce(ctx, run.Token, "began on "+run.Replica); err != nil {
			return err
		}
		<-ctx.Done()
		_ = r.WriteOnce(ctx, 0, "ended on "+run.Replica+": "+context.Cause(ctx).Error())
		return context.Cause(ctx)
	})
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	stopped := c.Stop()
	_ = r.WriteOnce(ctx, 0, "stopping "+r.ID())
	<-stopped.Done()
	return r.WriteOnce(ctx, 0, "stopped "+r.ID())
}

func TestStopEndsUnderALostLease(t *testing.T) {
	processes.Run(t, 0, func(r *processes.Replica) {
		r.Run(func(ctx context.Context) error { return serve(ctx, r) })
	}, func(f *processes.Fleet) {
		await := func(text string) {
			f.Await(text+": is not written", func() bool {
				for _, e := range f.Gate().Effects() {
					if strings.HasPrefix(e.Key, text) {
						return true
					}
				}
				return false
			})
		}
		f.Start("a")
		await("began on a")
		f.Start("b")
		f.Cut("a")
		await("ended on a: lease: lost")
		await("began on b")
		f.Stop("a") // its lease is lost, and Redis is away
		await("stopped a")

		f.Start("c")
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			f.Stop("b")
		}()
		await("stopping b") // its run has the shutdown grace to finish
		f.Cut("b")
		await("ended on b: lease: lost")
		await("began on c")
		<-stopped
		await("stopped b")
		f.Gate().AssertOnce()
		require.Empty(t, f.Runs("job"), "only the drop-in runs jobs")
	})
}
