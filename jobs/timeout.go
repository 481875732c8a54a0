package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrTimeout matches, with errors.Is, the failure of an attempt that a time limit ended, and the cause of the context
// that told it so. [TimeoutError] has the details.
var ErrTimeout = errors.New("timeout")

// TimeoutError says which limit was not kept. It matches [ErrTimeout].
type TimeoutError struct {
	Setting string        // where the limit is set, as the configuration file spells it, such as timeout
	Limit   time.Duration // its value
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s: not done within %s", e.Setting, e.Limit)
}

// Is makes errors.Is(e, ErrTimeout) true.
func (e *TimeoutError) Is(target error) bool { return target == ErrTimeout }

// Timeout returns a [Wrapper] that ends the handler's context after limit, with a [*TimeoutError] as the cause. The
// error of a handler that fails after that wraps the cause. A limit of 0 or less is none.
//
// The handler's return is awaited, however long it takes: a run that nobody watches any more could go on when its lease
// has ended. A handler that ignores its context therefore has no limit, and one that returns nil in spite of it has
// succeeded.
func Timeout(limit time.Duration) Wrapper {
	return func(next Handler) Handler {
		if limit <= 0 {
			return next
		}
		cause := &TimeoutError{Setting: "timeout", Limit: limit}
		return func(ctx context.Context, run Run) error {
			ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
			defer cancel()
			err := failureOf(next(ctx, run))
			if err == nil || !errors.Is(context.Cause(ctx), cause) || errors.Is(err, cause) {
				return err
			}
			return fmt.Errorf("%w: %w", cause, err)
		}
	}
}
