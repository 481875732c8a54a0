package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	// ErrHeld is matched by the error of Acquire when another holds the name. The error is a
	// *HeldError.
	ErrHeld = errors.New("lease: held by another")

	// ErrDecided is returned by Acquire when the tick is settled: nobody will be granted it
	// again.
	ErrDecided = errors.New("lease: the tick is decided")

	// ErrLost is matched by the cause of a lease's context when the lease could not be proved held
	// any longer. The cause is a *LostError.
	ErrLost = errors.New("lease: lost")

	// ErrReleased is the cause of a lease's context after Settle, Release, Abandon or
	// Renewer.Close.
	ErrReleased = errors.New("lease: released")
)

// Errors that come from the store.
var (
	ErrFenced    = protocol.ErrFenced    // of Settle, Release and SetAttempt: the grant is not current any more
	ErrReplaced  = protocol.ErrReplaced  // the cause of a context: a newer tick wants its place
	ErrCancelled = protocol.ErrCancelled // matches the cause of a context, a *CancelledError: somebody has cancelled it
	ErrPermanent = protocol.ErrPermanent // matched by what the same call would get again, until somebody changes something
)

// HeldError names the holder of the claimed name.
type HeldError struct {
	Name      string
	Holder    string
	Remaining time.Duration // of the lease, unless it is renewed
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease: %q is held by %s for another %s unless renewed", e.Name, e.Holder, e.Remaining)
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// LostError is the cause of a lost lease's context.
type LostError struct {
	Name  string
	Tick  int64
	Token int64
	// Reason is one of three. With expired no renewal was answered before the deadline. With fenced
	// the store said that the grant is not current. With max_hold it was held for as long as
	// Claim.MaxHold allows, and runs out in the store unless it is released.
	Reason  string
	LastErr error // what the last renewal failed with; nil when none failed
}

func (e *LostError) Error() string {
	s := fmt.Sprintf("lease: lost %q, token %d: %s", e.Name, e.Token, e.Reason)
	if e.LastErr != nil {
		s += ": " + e.LastErr.Error()
	}
	return s
}

// Is makes errors.Is(err, ErrLost) true.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns what the last renewal failed with.
func (e *LostError) Unwrap() error { return e.LastErr }
