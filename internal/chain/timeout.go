package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/jobs"
)

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
