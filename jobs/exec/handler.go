package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/solotick/solotick/jobs"
)

// New returns a handler that runs c once for each tick, under guard. It succeeds when the command ends by itself with
// exit code 0; every other error is an [*ExitError], except one of an invalid command or a run without a lease. It
// returns when nothing of the run is left: neither the command nor what it has started.
//
// The handler is safe for concurrent use, and keeps its own copy of c. The package comment says how a run is ended.
func New(guard *Guard, c Command) jobs.Handler {
	invalid := c.Validate()
	c = c.clone()
	return func(ctx context.Context, run jobs.Run) error {
		if invalid != nil {
			return invalid
		}
		if run.Lease == nil {
			return errors.New("exec: the run has no lease, so nobody could tell when the command must have stopped; start it from a scheduler, or give it one")
		}
		if ctx.Err() != nil {
			return &ExitError{Reason: ReasonCancelled, Code: -1, causes: []error{context.Cause(ctx)}}
		}
		dir, err := filepath.Abs(c.Dir) // of the empty string: the working directory
		if err != nil {
			return &ExitError{Reason: ReasonNotStarted, Code: -1, causes: []error{err}}
		}
		deadline := run.Lease.Deadline()
		w, err := guard.start(run, instantOf(deadline), c.KillGrace, func(mark string) *start {
			return &start{Args: c.Args, Dir: dir, Env: environment(os.Environ(), c, dir, run, mark), Mark: mark}
		})
		if err != nil {
			return &ExitError{Reason: ReasonNotStarted, Code: -1, causes: []error{err}}
		}
		return w.await(ctx, c.KillGrace, deadline)
	}
}
