package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	// ErrRestarted is the cause of a [MajorityError] when enough nodes have answered, but too many
	// of them were started or emptied lately. Leases that they have forgotten may still be held.
	// Wait for as long as the error says.
	ErrRestarted = errors.New("quorum: nodes were started or emptied within the longest TTL")

	// errContended is returned when others were faster for a call's whole timeout. Nothing is known
	// of the outcome; the same request may be made again.
	errContended = errors.New("quorum: other clients change the same name again and again")

	// errTwice is returned when two of the nodes are one server: it would be counted twice. Give
	// each node a server of its own.
	errTwice = protocol.Permanent(errors.New("quorum: two nodes are the same server"))

	// errClosed is returned by a store that is closed.
	errClosed = protocol.Permanent(errors.New("quorum: the store is closed"))

	errTimeout = fmt.Errorf("quorum: the call did not end within the timeout: %w", context.DeadlineExceeded)

	errReply = errors.New("quorum: unexpected reply")
)

// MajorityError is returned when fewer nodes could be counted than a majority. The outcome is
// unknown; the same request may be made again. It matches lease.ErrPermanent when that holds for so
// many of its Causes that those without could not be a majority.
type MajorityError struct {
	Nodes     int // how many there are
	Needed    int // how many have to be counted
	Answered  int // how many have answered and count
	Restarted int // how many have answered, but were started or emptied within the longest TTL
	// Wait is for how long it will take, if nothing else happens, until enough of those that have
	// answered count. It is 0 when they are too few anyway.
	Wait   time.Duration
	Causes []error // what the others said, if anything
}

func (e *MajorityError) Error() string {
	text := fmt.Sprintf("quorum: %d of %d nodes answered, %d needed", e.Answered, e.Nodes, e.Needed)
	if e.Restarted > 0 {
		text = fmt.Sprintf("quorum: %d of %d nodes can be counted, %d needed; %d more answered, but started or were emptied lately",
			e.Answered, e.Nodes, e.Needed, e.Restarted)
		if e.Wait > 0 {
			text += fmt.Sprintf(": wait %s", e.Wait.Round(time.Millisecond))
		}
	}
	for i, cause := range e.Causes {
		text += [...]string{": ", "; "}[min(i, 1)] + cause.Error()
	}
	return text
}

// Unwrap returns ErrRestarted, when that is why, and what the nodes said.
func (e *MajorityError) Unwrap() []error {
	causes := slices.Clone(e.Causes)
	for i, cause := range causes {
		if errors.Is(cause, protocol.ErrPermanent) && !e.permanent() {
			causes[i] = passing{cause}
		}
	}
	if e.Wait > 0 {
		return append([]error{ErrRestarted}, causes...)
	}
	return causes
}

// permanent reports whether too few nodes are left besides those that fail for good.
func (e *MajorityError) permanent() bool {
	remaining := e.Nodes
	for _, cause := range e.Causes {
		if errors.Is(cause, protocol.ErrPermanent) {
			remaining--
		}
	}
	return remaining < e.Needed
}

// passing is a permanent error of one node, which the others can do without.
type passing struct{ cause error }

func (p passing) Error() string { return p.cause.Error() }

// Is makes p match what its cause does, but for lease.ErrPermanent.
func (p passing) Is(target error) bool {
	return target != protocol.ErrPermanent && errors.Is(p.cause, target)
}

// As makes p a value of the types that its cause is.
func (p passing) As(target any) bool { return errors.As(p.cause, target) }
