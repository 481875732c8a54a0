package exec

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/proc"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

const (
	// backupDelay is how long after a deadline the worker kills a group itself. By then the
	// supervisor has done so, unless it is frozen.
	backupDelay = 50 * time.Millisecond
	// backupLimit is how late the worker may do that without a look at the group. A worker that
	// comes later may have been frozen itself. The end of the run may be waiting in the socket, and
	// the group's number may be taken again.
	backupLimit = 250 * time.Millisecond
	// reportTimeout is how long the worker waits for the report of an overdue end before it kills
	// the supervisor.
	reportTimeout = 5 * time.Second
)

// activeRun is a run in the care of the supervisor process.
type activeRun struct {
	conn *connection
	id   uint64
	run  jobs.Run

	logger *slog.Logger // nil if nothing is logged

	pid int // of the group leader; 0 until it has started. Guarded by conn.mu.

	logged chan struct{} // closed once the last line of output is logged, or never will be

	ended chan struct{} // closed once one of these two is set
	end   *protocol.End
	lost  error
}

// await passes renewals and the end of the context on until the supervisor reports the end of the
// run.
func (r *activeRun) await(ctx context.Context, grace time.Duration, deadline time.Time) error {
	lease := r.run.Lease
	unsubscribe := lease.OnRenewal(r.extend)
	defer unsubscribe()
	if now := lease.Deadline(); !now.Equal(deadline) { // renewed between the start request and OnRenewal
		r.extend(now)
	}

	overdue := time.NewTimer(time.Until(lease.Deadline()) + backupDelay)
	defer overdue.Stop()
	suspected := false // the supervisor may be frozen
	cancelled := ctx.Done()
	for {
		select {
		case <-r.ended:
			r.awaitLog()
			return r.outcome(ctx)
		case <-cancelled:
			if !lease.Valid() {
				grace = 0 // another replica may hold the tick already
			}
			r.stop(grace)
			cancelled = nil
		case <-overdue.C:
			late := -time.Until(lease.Deadline())
			switch {
			case late < backupDelay: // renewed meanwhile
				suspected = false
				overdue.Reset(backupDelay - late)
			case !suspected:
				suspected = true
				r.killGroup(late)
				overdue.Reset(reportTimeout)
			default:
				r.conn.kill() // which ends the run as well
			}
		}
	}
}

// outcome turns the supervisor's last report into the handler's error.
func (r *activeRun) outcome(ctx context.Context) error {
	failed := &ExitError{Code: -1}
	if ctx.Err() != nil {
		failed.causes = append(failed.causes, context.Cause(ctx))
	}
	if r.lost != nil {
		failed.Reason = protocol.ReasonSupervisorLost
		failed.causes = append(failed.causes, r.lost)
		return failed
	}

	failed.Reason, failed.Output = r.end.Reason, r.end.Output
	if failed.Reason == protocol.ReasonDeadline {
		failed.causes = append(failed.causes, jobs.ErrLeaseEnding)
	}
	switch status := r.end.Status; {
	case failed.Reason == protocol.ReasonNotStarted:
		failed.detail = r.end.Failure
		if r.end.Errno != 0 {
			failed.causes = append(failed.causes, r.end.Errno)
		}
	case r.end.Alive:
		failed.detail = "it was killed but has not ended yet: it is in a system call that cannot be interrupted"
	case r.pid == 0:
		failed.detail = "before it had started"
	case status.Signaled():
		failed.Signal = status.Signal()
	case status.ExitStatus() == 0 && failed.Reason == protocol.ReasonExit:
		return nil
	default:
		failed.Code = status.ExitStatus()
	}
	return failed
}

// killGroup kills the run's process group in place of a supervisor that is late, if it is still the
// run's for all that can be seen.
func (r *activeRun) killGroup(late time.Duration) {
	if pid := r.groupLeader(); pid != 0 && (late < backupLimit || proc.TagOf(pid) == r.tag()) {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// extend sends the supervisor the lease's new deadline, in place of one that waits to be sent.
func (r *activeRun) extend(deadline time.Time) {
	next := protocol.Request{Verb: protocol.VerbExtend, Run: r.id, Deadline: bootclock.Of(deadline)}
	r.conn.outbox.Change(func(waiting []protocol.Request) []protocol.Request {
		for i, q := range waiting {
			if q.Verb == next.Verb && q.Run == next.Run {
				waiting[i].Deadline = max(q.Deadline, next.Deadline)
				return waiting
			}
		}
		return append(waiting, next)
	})
}

// stop asks the supervisor to end the run.
func (r *activeRun) stop(grace time.Duration) {
	r.conn.outbox.Put(protocol.Request{Verb: protocol.VerbStop, Run: r.id, Grace: grace})
}

// tag identifies the run in the environment of its processes.
func (r *activeRun) tag() string { return fmt.Sprintf("%s/%d", r.conn.nonce, r.id) }

func (r *activeRun) groupLeader() int {
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	return r.pid
}
