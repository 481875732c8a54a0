package solotest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// LossLimit is how long a handler may go on after its context has ended before [LoseLease] fails.
const LossLimit = time.Second

// Loss describes how a handler whose lease was lost ended.
type Loss struct {
	Run   jobs.Run
	Cause error         // why its context ended: a *lease.LostError
	Err   error         // the handler's
	After time.Duration // from the end of its context until it returned
}

// LoseLease calls the handler for a tick, as a scheduler does, and lets the lease be lost while it
// runs. The store cannot be reached any more. It fails the test when the handler goes on for longer
// than [LossLimit] after its context has ended, and when it returns before. It runs in virtual
// time, in a testing/synctest bubble of its own; options are those of the job.
func LoseLease(t *testing.T, handler jobs.Handler, options ...jobs.Option) (loss Loss) {
	t.Helper()
	Run(t, 1, func(t *testing.T, f *Fleet) {
		var fault string
		if loss, fault = f.lose(handler, options); fault != "" {
			t.Error(fault)
		}
	})
	return loss
}

func (f *Fleet) lose(handler jobs.Handler, options []jobs.Option) (loss Loss, fault string) {
	f.t.Helper()
	began, ended := make(chan context.Context, 1), make(chan error, 1)
	f.Func("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
		select {
		case began <- ctx:
			loss.Run = run
			err := handler(ctx, run)
			ended <- err
			return err
		default:
			return nil // a later tick
		}
	}, options...)
	f.Advance(time.Hour)
	ctx := <-began
	f.Cut("r1")
	<-ctx.Done()
	loss.Cause = context.Cause(ctx)
	if lost := new(lease.LostError); !errors.As(loss.Cause, &lost) {
		return loss, fmt.Sprintf("solotest: the handler returned (%v) before its lease was lost, %s after it was cut off: it has nothing to do", <-ended, TTL)
	}
	lost := time.Now()
	select {
	case loss.Err = <-ended:
	case <-time.After(LossLimit):
		return loss, fmt.Sprintf("solotest: the handler goes on %s after its context has ended (%v): it must return when ctx.Done() is closed", LossLimit, loss.Cause)
	}
	loss.After = time.Since(lost)
	return loss, ""
}
