package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v7"

	"github.com/solotick/solotick/jobs"
)

// retrying tries a failed run again, with Attempt raised by one each time, until one of these:
//
//   - An attempt succeeds: the error is nil.
//   - Attempt has reached policy.MaxAttempts: the error is the last attempt's. The first attempt
//     keeps the number that it comes with, so attempts before a takeover count.
//   - The error is [jobs.Permanent], or matches [jobs.ErrLeaseEnding]: it is returned.
//   - ctx ends, also during a wait: the error wraps the last attempt's and [context.Cause] of ctx.
//   - hooks.Stopping is closed, also during a wait: the error wraps the last attempt's and
//     [ErrGivenUp].
//
// The first attempt is always made. The wait after it is policy.Backoff, and twice as long after
// each further one. It is up to half more or less, at random, but never more than
// policy.MaxBackoff. An error that has a method RetryAfter() time.Duration asks for a wait of at
// least so long, within the same limit.
//
// With MaxAttempts 1 the handler is returned as it is.
func retrying(policy jobs.Retry, hooks Hooks) Wrapper {
	return func(next jobs.Handler) jobs.Handler {
		if policy.MaxAttempts <= 1 {
			return next
		}
		return func(ctx context.Context, run jobs.Run) error { return retry(ctx, run, policy, next, hooks) }
	}
}

func retry(ctx context.Context, run jobs.Run, policy jobs.Retry, next jobs.Handler, hooks Hooks) error {
	waits := waitsOf(policy)
	for attemptCtx := ctx; ; attemptCtx = jobs.NewContext(ctx, run) {
		err := safe(next(attemptCtx, run))
		if err == nil || run.Attempt >= policy.MaxAttempts || isPermanent(err) {
			return err
		}
		if cause := hooks.ended(ctx); cause != nil {
			return notRetried(err, cause)
		}

		wait := min(max(waits.NextBackOff(), askedWait(err)), policy.MaxBackoff)
		if hooks.OnRetry != nil {
			hooks.OnRetry(run, err, wait)
		}
		if cause := hooks.wait(ctx, wait); cause != nil {
			return notRetried(err, cause)
		}

		run.Attempt++
		if hooks.BeforeAttempt != nil {
			hooks.BeforeAttempt(ctx, &run)
			if cause := hooks.ended(ctx); cause != nil { // it may have taken a while
				return notRetried(err, cause)
			}
		}
	}
}

func waitsOf(policy jobs.Retry) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     policy.Backoff,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         policy.MaxBackoff,
	}
}

func isPermanent(err error) bool {
	_, ok := errors.AsType[*jobs.PermanentError](err)
	return ok || errors.Is(err, jobs.ErrLeaseEnding)
}

// askedWait returns the wait that err asks for; 0 when it asks for none.
func askedWait(err error) time.Duration {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.retryAfter()
	}
	return 0
}

func notRetried(err, cause error) error {
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (not tried again: %w)", err, cause)
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
