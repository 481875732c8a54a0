package jobs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors of runs, for errors.Is.
var (
	// ErrLeaseEnding matches the error of a handler that stopped because its lease was about to end
	// without a renewal. The tick is left for another attempt, as when the lease is lost.
	ErrLeaseEnding = errors.New("the lease was not renewed in time")

	// ErrTimeout matches, with errors.Is, the failure of an attempt that a time limit ended, and the
	// cause of that attempt's context. [TimeoutError] has the details.
	ErrTimeout = errors.New("timeout")

	// ErrNoCheckpoints is the error of [Run.Checkpoint] in a run that keeps none, such as that of a
	// leader task.
	ErrNoCheckpoints = errors.New("this run keeps no checkpoints")

	// ErrGoexit is the failure of a run whose handler ended its goroutine instead of returning.
	ErrGoexit = errors.New("handler ended its goroutine (runtime.Goexit, or t.FailNow in a test) instead of returning")
)

// PermanentError is a failure that is not retried. See [Permanent].
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the failure itself.
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent declares that another attempt would not change err: a handler that returns it, however
// wrapped, is not retried. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// TimeoutError says which limit an attempt has exceeded. It matches [ErrTimeout].
type TimeoutError struct {
	Setting string        // where the limit is set, as the configuration file spells it, such as timeout
	Limit   time.Duration // its value
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s: not done within %s", e.Setting, e.Limit)
}

// Is makes errors.Is(e, ErrTimeout) true.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// PanicError is the failure of a run whose handler panicked.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine that panicked, as debug.Stack writes it
}

// Error returns one line with the value, without the stack.
func (e *PanicError) Error() string {
	return "panic: " + strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
}

// Unwrap returns the value if it is an error, so that errors.Is and errors.As see through the
// panic.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
