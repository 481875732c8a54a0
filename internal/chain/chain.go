// Package chain makes the function that runs one tick of a job. It is the handler with the job's
// timeout and retries, and safe from its panics.
package chain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/solotick/solotick/jobs"
)

// Wrapper adds behaviour around a handler. It keeps no state between runs, so that the handler it
// returns is as safe for concurrent use as the one it was given.
type Wrapper = func(next jobs.Handler) jobs.Handler

// Hooks connect a job's chain with the scheduler. Each field may be nil. The functions are called
// on the goroutine that runs the tick, one at a time per run; runs of different ticks may call them
// concurrently.
type Hooks struct {
	// Wrappers are around each attempt, the first outermost.
	Wrappers []Wrapper

	// OnRetry is called when an attempt has failed and another will follow after wait. run is the
	// attempt that failed with err. It is not called for the failure that ends the run.
	OnRetry func(run jobs.Run, err error, wait time.Duration)

	// BeforeAttempt is called when the wait is over, right before the attempt that run describes.
	// It records run.Attempt in the store, so that a takeover counts from there. The attempt
	// follows whether or not that worked, so BeforeAttempt handles its own errors and limits its
	// own time. It may change what the attempt gets, such as its position.
	BeforeAttempt func(ctx context.Context, run *jobs.Run)

	// Stopping is closed when no further attempt is to begin here. A run that waits for its next
	// attempt, or fails later, ends at once with [ErrGivenUp]. A nil channel is never closed.
	Stopping <-chan struct{}
}

// ErrGivenUp matches the error of a run that waited for its next attempt when its replica stopped:
// that attempt is left to another replica.
var ErrGivenUp = errors.New("the replica stops: the next attempt is left to another")

// New returns the function that runs a tick of job: its handler inside the wrappers that its
// [jobs.Spec] asks for. One chain serves all ticks of the job, and is safe for concurrent use.
//
// From the outside in:
//
//  1. The context gets the run, for [jobs.FromContext].
//  2. retrying starts the attempts. It is outside the timeout, so that each attempt has the whole
//     of it and the waits in between have none.
//  3. timeout limits one attempt.
//  4. [Recover] turns a panic into an error, and makes every error safe to use. So a panic is
//     retried like any other failure, and the others wait for the handler's whole goroutine.
//  5. The wrappers of the hooks, if there are any. Each sees the context that the attempt has, and
//     its run with the attempt's number.
//  6. Recover again, so that the wrappers see a panic of the handler as its error. A deferred
//     function of theirs then sees the effects of a call that returned.
//
// A chain always returns once the handler has. No panic and no runtime.Goexit leaves it, neither of
// the handler nor of the methods of the error that it returns.
func New(job *jobs.Job, hooks Hooks) jobs.Handler {
	spec := job.Spec()
	next := Recover(Wrapped(job.Handler(), hooks.Wrappers))
	next = timeout(spec.Timeout)(next)
	next = retrying(spec.Retry, hooks)(next)
	return func(ctx context.Context, run jobs.Run) error {
		return next(jobs.NewContext(ctx, run), run)
	}
}

// NewThen is [New] for a caller that starts a goroutine for each run, and does nothing else there.
// The function that it returns calls then with the run's error, once, and ends the goroutine if the
// handler does. That spares a second goroutine for each run of a job without timeout and retry.
func NewThen(job *jobs.Job, hooks Hooks) func(ctx context.Context, run jobs.Run, then func(error)) {
	spec := job.Spec()
	if spec.Timeout <= 0 && spec.Retry.MaxAttempts <= 1 {
		return recoverThen(Wrapped(job.Handler(), hooks.Wrappers))
	}
	chain := New(job, hooks)
	return func(ctx context.Context, run jobs.Run, then func(error)) { then(chain(ctx, run)) }
}

// Wrapped returns the handler inside wrappers, the first outermost, safe from the handler's panics
// but not from those of the wrappers. Without wrappers it is the handler itself.
func Wrapped(handler jobs.Handler, wrappers []Wrapper) jobs.Handler {
	if len(wrappers) == 0 {
		return handler
	}
	next := Recover(handler)
	for _, wrap := range slices.Backward(wrappers) {
		next = wrap(next)
	}
	return next
}

// Recover turns a panic of the handler into a [*jobs.PanicError], and runtime.Goexit into
// [jobs.ErrGoexit]. Every error that it returns is safe to use: see failure.
//
// Nothing can stop a goroutine that has called runtime.Goexit from ending. So the handler gets a
// goroutine of its own, which Recover waits for. Otherwise such a handler would end its caller too,
// and its tick would stay held, neither running nor settled. A panic on a further goroutine, one
// that the handler starts, still ends the process.
func Recover(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		result := make(chan error, 1)
		go call(ctx, run, next, func(err error) { result <- err })
		return safe(<-result)
	}
}

// recoverThen is the chain of a job without timeout and retry, for [NewThen].
func recoverThen(handler jobs.Handler) func(context.Context, jobs.Run, func(error)) {
	return func(ctx context.Context, run jobs.Run, then func(error)) {
		call(jobs.NewContext(ctx, run), run, handler, func(err error) { then(safe(err)) })
	}
}

// call calls handler, and then with its error or with what it did instead of returning.
func call(ctx context.Context, run jobs.Run, handler jobs.Handler, then func(error)) {
	err := jobs.ErrGoexit // stays unless the handler returns or panics
	defer func() { then(err) }()
	defer func() {
		if value := recover(); value != nil {
			err = &jobs.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	err = handler(ctx, run)
}

// timeout ends the handler's context after limit, with a [*jobs.TimeoutError] as the cause. The
// error of a handler that fails after that wraps the cause. A limit of 0 or less is none.
//
// It waits for the handler to return, however long that takes: a run that is not waited for could
// go on after its lease has ended. So a handler that ignores its context has no limit, and one that
// returns nil in spite of it has succeeded.
func timeout(limit time.Duration) Wrapper {
	return func(next jobs.Handler) jobs.Handler {
		if limit <= 0 {
			return next
		}
		cause := &jobs.TimeoutError{Setting: "timeout", Limit: limit}
		return func(ctx context.Context, run jobs.Run) error {
			ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
			defer cancel()
			err := safe(next(ctx, run))
			if err == nil || !errors.Is(context.Cause(ctx), cause) || errors.Is(err, cause) {
				return err
			}
			return fmt.Errorf("%w: %w", cause, err)
		}
	}
}
