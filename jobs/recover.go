package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// ErrGoexit is the failure of a run whose handler ended its goroutine instead of returning. [Recover] reports it.
var ErrGoexit = errors.New("handler ended its goroutine (runtime.Goexit, or t.FailNow in a test) instead of returning")

// PanicError is the failure of a run whose handler panicked. [Recover] reports it.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine that panicked, as debug.Stack writes it
}

// Error returns one line with the value. The stack is left to those who ask for it.
func (e *PanicError) Error() string {
	return "panic: " + strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
}

// Unwrap returns the value if it is an error, so that errors.Is and errors.As see through the panic.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Recover is a [Wrapper] that turns a panic of the handler into a [*PanicError], and runtime.Goexit into [ErrGoexit].
// Every error that it returns is a [*Failure], which matches these, or what the handler returned, with errors.Is and
// errors.As.
//
// Nothing can stop a goroutine that has called runtime.Goexit from ending. The handler therefore has a goroutine of its
// own, which Recover waits for: otherwise such a handler would end its caller too, and its tick would stay held, neither
// running nor settled. A panic on a further goroutine, one that the handler starts, still ends the process.
func Recover(next Handler) Handler {
	return func(ctx context.Context, run Run) error {
		result := make(chan error, 1)
		go func() {
			err := ErrGoexit // stays unless next returns or panics
			defer func() {
				if value := recover(); value != nil {
					err = &PanicError{Value: value, Stack: debug.Stack()}
				}
				result <- err
			}()
			err = next(ctx, run)
		}()
		return failureOf(<-result)
	}
}

// call is the chain of a job without timeout and retry; see [ChainThen].
func (j *Job) call(ctx context.Context, run Run, then func(error)) {
	err := ErrGoexit // stays unless the handler returns or panics
	defer func() { then(failureOf(err)) }()
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	err = j.handler(&runContext{ctx, run}, run)
}

// runContext is what [NewContext] returns, in one piece.
type runContext struct {
	context.Context
	run Run
}

func (c *runContext) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return c.run
	}
	return c.Context.Value(key)
}
