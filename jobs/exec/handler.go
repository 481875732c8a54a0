package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// New returns a handler that runs c once for each tick, under the supervisor. It succeeds when the
// command ends by itself with exit code 0. Every other error is an [*ExitError], except one of an
// invalid command or a run without a lease. It returns when no process of the run lives: neither
// the command nor what it has started.
//
// The handler is safe for concurrent use, and keeps its own copy of c. The package comment says how
// a run is ended.
func New(supervisor *Supervisor, c Command) jobs.Handler {
	invalid := c.Validate()
	c = c.clone()
	return func(ctx context.Context, run jobs.Run) error {
		if invalid != nil {
			return invalid
		}
		if run.Lease == nil {
			return errors.New("exec: the run has no lease, so the command would have no deadline; start it from a scheduler, or give it a lease")
		}
		if ctx.Err() != nil {
			return &ExitError{Reason: protocol.ReasonCancelled, Code: -1, causes: []error{context.Cause(ctx)}}
		}
		dir, err := filepath.Abs(c.Dir) // of the empty string: the working directory
		if err != nil {
			return &ExitError{Reason: protocol.ReasonNotStarted, Code: -1, causes: []error{err}}
		}
		deadline := run.Lease.Deadline()
		active, err := supervisor.start(run, bootclock.Of(deadline), c.KillGrace, func(tag string) *protocol.Start {
			return &protocol.Start{Args: c.Args, Dir: dir, Env: environment(os.Environ(), c, dir, run, tag), Tag: tag}
		})
		if err != nil {
			return &ExitError{Reason: protocol.ReasonNotStarted, Code: -1, causes: []error{err}}
		}
		return active.await(ctx, c.KillGrace, deadline)
	}
}
