package jobs

import (
	"context"
	"time"
)

// Wrapper adds behaviour around a [Handler], such as [Recover], [Timeout] or [Retrying]. A wrapper keeps no state
// between runs, so that the handler it returns is as safe for concurrent use as the one it was given.
type Wrapper func(Handler) Handler

// Hooks connect a job's retries with whoever runs it. Each field may be nil. The functions are called on the goroutine that runs
// the tick, one at a time per run; runs of different ticks may call them concurrently.
type Hooks struct {
	// OnRetry is called when an attempt has failed and another will follow after wait. run is the attempt that failed
	// with err. It is not called for the failure that ends the run.
	OnRetry func(run Run, err error, wait time.Duration)

	// Announce is called when the wait is over, right before the attempt that run describes. It is the place to record
	// run.Attempt in the store, so that a takeover counts from there. The attempt is made whether or not that worked,
	// so Announce deals with its own errors, and bounds its own time.
	Announce func(ctx context.Context, run Run)

	// Stopping is closed when no further attempt is to begin here: a run that waits for its next attempt, or fails
	// later, ends at once with [ErrGivenUp]. A nil channel is never closed.
	Stopping <-chan struct{}
}

// Chain returns what a scheduler calls to run a tick of job: its handler inside the wrappers that its [Spec] asks for.
// One chain serves all ticks of the job, and is safe for concurrent use.
//
// From the outside in:
//
//  1. The context is given the run, for [FromContext].
//  2. [Retrying] starts the attempts. It is outside the timeout, so that each attempt has the whole of it and the waits
//     in between have none.
//  3. [Timeout] limits one attempt.
//  4. [Recover] turns a panic into an error, and every error into a [*Failure]. It is innermost, so that a panic is
//     retried like any other failure, and so that the handler's whole goroutine is what the others wait for.
//
// A chain always returns, once the handler has: neither a panic nor runtime.Goexit gets past it, of the handler or of
// the methods of the error that it returns.
func Chain(job *Job, hooks Hooks) Handler {
	next := Recover(job.handler)
	next = Timeout(job.spec.Timeout)(next)
	next = Retrying(job.spec.Retry, hooks)(next)
	return func(ctx context.Context, run Run) error {
		return next(NewContext(ctx, run), run)
	}
}

// ChainThen is [Chain] for a caller that calls it in a goroutine made for this one run, and has nothing left to do there:
// the function that it returns calls then with the run's error, once, and ends the goroutine if the handler does. That
// spares a goroutine for each run without timeout and retry.
func ChainThen(job *Job, hooks Hooks) func(ctx context.Context, run Run, then func(error)) {
	if job.spec.Timeout <= 0 && job.spec.Retry.MaxAttempts <= 1 {
		return job.call
	}
	chain := Chain(job, hooks)
	return func(ctx context.Context, run Run, then func(error)) { then(chain(ctx, run)) }
}
