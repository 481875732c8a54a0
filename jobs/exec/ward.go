package exec

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs"
)

const (
	// backupDelay is how long after a deadline the worker kills a group itself. The guard is done by then unless it is
	// frozen.
	backupDelay = 50 * time.Millisecond
	// backupLate is how late that may happen unseen. A worker that comes later may have been frozen itself: the end of
	// the run may be waiting in the socket, and the group's number may be somebody else's by now.
	backupLate = 250 * time.Millisecond
	// patience is how long the worker waits for the report of an overdue end before it gives the guard up.
	patience = 5 * time.Second
)

// ward is a run in the care of the guard process.
type ward struct {
	link *link
	id   uint64
	run  jobs.Run

	logger *slog.Logger // of the lines of output; nil if nobody wants them

	pid int // of the leader; 0 until it has started. Guarded by link.mu.

	logged chan struct{} // closed once the last line of output is logged, or never will be

	ended chan struct{} // closed once one of these two is set
	end   *end
	lost  error
}

// await passes on what happens to the run until the guard reports its end.
func (w *ward) await(ctx context.Context, grace time.Duration, deadline time.Time) error {
	lease := w.run.Lease
	stopListening := lease.OnRenewal(w.extend)
	defer stopListening()
	if now := lease.Deadline(); !now.Equal(deadline) { // renewed between the start message and OnRenewal
		w.extend(now)
	}

	overdue := time.NewTimer(time.Until(lease.Deadline()) + backupDelay)
	defer overdue.Stop()
	suspected := false // of being frozen: the guard
	cancelled := ctx.Done()
	for {
		select {
		case <-w.ended:
			w.awaitLog()
			return w.outcome(ctx)
		case <-cancelled:
			if !lease.Valid() {
				grace = 0 // another replica may hold the tick already
			}
			w.stop(grace)
			cancelled = nil
		case <-overdue.C:
			late := -time.Until(lease.Deadline())
			switch {
			case late < backupDelay: // renewed meanwhile
				suspected = false
				overdue.Reset(backupDelay - late)
			case !suspected:
				suspected = true
				w.killGroup(late)
				overdue.Reset(patience)
			default:
				w.link.condemn() // which ends the run as well
			}
		}
	}
}

// outcome turns the guard's last report into the handler's error.
func (w *ward) outcome(ctx context.Context) error {
	failed := &ExitError{Code: -1}
	if ctx.Err() != nil {
		failed.causes = append(failed.causes, context.Cause(ctx))
	}
	if w.lost != nil {
		failed.Reason = ReasonGuardLost
		failed.causes = append(failed.causes, w.lost)
		return failed
	}

	failed.Reason, failed.Output = w.end.Reason, w.end.Output
	if failed.Reason == ReasonDeadline {
		failed.causes = append(failed.causes, jobs.ErrLeaseEnding)
	}
	switch status := w.end.Status; {
	case w.end.Reason == ReasonNotStarted:
		failed.detail = w.end.Failure
		if w.end.Errno != 0 {
			failed.causes = append(failed.causes, w.end.Errno)
		}
	case w.end.Alive:
		failed.detail = "it was killed but has not ended yet: it is in a system call that cannot be interrupted"
	case w.pid == 0:
		failed.detail = "before it had started"
	case status.Signaled():
		failed.Signal = status.Signal()
	case status.ExitStatus() == 0 && w.end.Reason == ReasonExit:
		return nil
	default:
		failed.Code = status.ExitStatus()
	}
	return failed
}

// killGroup does the guard's work when the guard is late, and the group is still the run's for all that can be seen.
func (w *ward) killGroup(late time.Duration) {
	if pid := w.leader(); pid != 0 && (late < backupLate || markOf(pid) == w.mark()) {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// extend tells the guard the lease's new deadline. It never waits for the guard.
func (w *ward) extend(deadline time.Time) {
	at := instantOf(deadline)
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	w.link.extensions[w.id] = max(at, w.link.extensions[w.id])
	w.link.notifyLocked()
}

// stop asks the guard to end the run.
func (w *ward) stop(grace time.Duration) {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	w.link.requests = append(w.link.requests, request{Verb: verbStop, Run: w.id, Grace: grace})
	w.link.notifyLocked()
}

// mark is what the run's processes carry in their environment.
func (w *ward) mark() string { return fmt.Sprintf("%s/%d", w.link.nonce, w.id) }

func (w *ward) leader() int {
	w.link.mu.Lock()
	defer w.link.mu.Unlock()
	return w.pid
}
