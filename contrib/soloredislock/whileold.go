package soloredislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"github.com/solotick/solotick/jobs"
)

// WhileOld wraps the handler of a job so that it holds redislock's lock of a key as long as it
// runs. It is for a cron job that was under that lock and moves to package solotick. A replica that
// runs a tick and one of the old release then exclude each other. A tick whose old lock is taken is
// run by an old replica: the handler is not called, and the tick has succeeded. Remove it when no
// replica of the old release is left.
//
// ttl, at least 1 ms, is that of the old lock, which is refreshed while the handler runs.
func WhileOld(old redislock.RedisClient, key string, ttl time.Duration) func(next jobs.Handler) jobs.Handler {
	return func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) error {
			if old == nil || ttl < time.Millisecond {
				return fmt.Errorf("soloredislock: while old: nil must be a client of Redis, and the ttl %q at least 1ms", ttl)
			}
			held, err := redislock.Obtain(ctx, old, key, ttl, nil)
			switch {
			case errors.Is(err, redislock.ErrNotObtained):
				return nil // an old replica runs the tick
			case err != nil:
				return fmt.Errorf("soloredislock: the old lock %q: %w", key, err)
			}
			running, end := context.WithCancel(ctx)
			l := &Lock{old: held}
			l.keepOld(running, ttl)
			err = next(ctx, run)
			end()
			return errors.Join(err, l.releaseOld(ctx))
		}
	}
}
