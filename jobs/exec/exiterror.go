package exec

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// ExitError is the error of every run that failed in the handler that [New] returns. It wraps the
// cause of the run's context if that had ended, and the system's error if the command could not be
// started.
type ExitError struct {
	// Reason is why the run failed:
	//
	//	exit             the command ended by itself, with an exit code or by a signal that the supervisor did not send
	//	not_started      it could not be started: no such program or directory, no permission
	//	cancelled        the run's context ended: a timeout, a shutdown, a lease known to be lost
	//	deadline         the lease was not renewed in time, so the supervisor sent SIGTERM or SIGKILL: the error matches
	//	                 jobs.ErrLeaseEnding
	//	supervisor_lost  the supervisor ended or did not answer, and the worker killed the command
	Reason string
	Code   int            // the exit code; -1 when the command was ended by a signal or never ran
	Signal syscall.Signal // that ended the command; 0 when none did
	Output string         // the last lines of both streams, at most 20 and 4 KiB

	detail string  // what else there is to say
	causes []error // the wrapped errors
}

// Error says how the command ended and why, and ends with the last lines of its output.
func (e *ExitError) Error() string {
	var b strings.Builder
	switch e.Reason {
	case protocol.ReasonNotStarted:
		b.WriteString("command did not start")
	case protocol.ReasonCancelled:
		b.WriteString("command was stopped because its run was cancelled")
	case protocol.ReasonDeadline:
		b.WriteString("command was stopped")
	case protocol.ReasonSupervisorLost:
		b.WriteString("command was killed because its supervisor was lost")
	default:
		b.WriteString("command failed")
	}
	switch {
	case e.Signal != 0:
		fmt.Fprintf(&b, ": ended by %s", unix.SignalName(e.Signal))
	case e.Code >= 0:
		fmt.Fprintf(&b, ": exit code %d", e.Code)
	}
	if e.detail != "" {
		b.WriteString(": " + e.detail)
	}
	for _, cause := range e.causes {
		b.WriteString(": " + cause.Error())
	}
	if e.Output != "" {
		b.WriteString("; last output:\n" + e.Output)
	}
	return b.String()
}

// Unwrap makes errors.Is and errors.As see the causes.
func (e *ExitError) Unwrap() []error { return e.causes }
