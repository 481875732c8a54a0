package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v7"
)

// PermanentError marks a failure that another attempt would not change. [Permanent] makes one.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the failure that was marked.
func (e *PermanentError) Unwrap() error { return e.Err }

// Permanent marks err as a failure that another attempt would not change: a handler that returns it, however wrapped, is
// not tried again. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// ErrGivenUp is matched by the error of a run that waited for its next attempt when its replica stopped: that attempt is
// left to another replica. See [Hooks].
var ErrGivenUp = errors.New("the replica stops: the next attempt is left to another")

// Retrying returns a [Wrapper] that tries a failed run again, with Attempt raised by one each time, until one of these:
//
//   - An attempt succeeds: the error is nil.
//   - Attempt has reached policy.MaxAttempts: the error is the last attempt's. The first attempt keeps the number that
//     it comes with, so attempts before a takeover count.
//   - The error is [Permanent], or matches [ErrLeaseEnding]: it is returned.
//   - ctx ends, also during a wait: the error wraps the last attempt's and [context.Cause] of ctx.
//   - hooks.Stopping is closed, also during a wait: the error wraps the last attempt's and [ErrGivenUp].
//
// The first attempt is always made. The wait after it is policy.Backoff, and twice as long after each further one; half
// of it more or less, at random, but never more than policy.MaxBackoff. An error that has a method RetryAfter()
// time.Duration asks for a wait of at least so long, within the same bound.
//
// With MaxAttempts 1 the handler is returned as it is.
func Retrying(policy Retry, hooks Hooks) Wrapper {
	return func(next Handler) Handler {
		if policy.MaxAttempts <= 1 {
			return next
		}
		return func(ctx context.Context, run Run) error { return policy.run(ctx, run, next, hooks) }
	}
}

func (r Retry) run(ctx context.Context, run Run, next Handler, hooks Hooks) error {
	waits := r.waits()
	for attemptCtx := ctx; ; attemptCtx = NewContext(ctx, run) {
		err := failureOf(next(attemptCtx, run))
		if err == nil || run.Attempt >= r.MaxAttempts || isPermanent(err) {
			return err
		}
		if why := hooks.ended(ctx); why != nil {
			return notRetried(err, why)
		}

		wait := min(max(waits.NextBackOff(), askedWait(err)), r.MaxBackoff)
		if hooks.OnRetry != nil {
			hooks.OnRetry(run, err, wait)
		}
		if why := hooks.wait(ctx, wait); why != nil {
			return notRetried(err, why)
		}

		run.Attempt++
		if hooks.Announce != nil {
			hooks.Announce(ctx, run)
			if why := hooks.ended(ctx); why != nil { // it may have taken a while
				return notRetried(err, why)
			}
		}
	}
}

func (r Retry) waits() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     r.Backoff,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         r.MaxBackoff,
	}
}

func isPermanent(err error) bool {
	_, ok := errors.AsType[*PermanentError](err)
	return ok || errors.Is(err, ErrLeaseEnding)
}

// askedWait returns the wait that err asks for; 0 when it asks for none.
func askedWait(err error) time.Duration {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.retryAfter()
	}
	return 0
}

func notRetried(err, why error) error {
	if errors.Is(err, why) {
		return err
	}
	return fmt.Errorf("%w (not tried again: %w)", err, why)
}

// ended returns why no further attempt is to begin; nil when one is.
func (h Hooks) ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-h.Stopping:
		return ErrGivenUp
	default:
		return nil
	}
}

// wait waits for d, and returns why no further attempt is to begin; nil when one is.
func (h Hooks) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-h.Stopping:
	}
	return h.ended(ctx)
}
