package soloredislock

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"

	"github.com/solotick/solotick/internal/expiring"
)

// Bridge makes every lock two: redislock's, in the keys of that client, and ours. So replicas with
// it exclude those that still use redislock, and those that use this package without it. It is for
// a deployment replica by replica: see docs/migrate/redislock.md.
//
// A lock is obtained when both are, the old one first. With [WithKeepAlive] the old one is
// refreshed as long as ours is held.
func Bridge(old redislock.RedisClient) Option {
	return func(c *Client) {
		if old == nil {
			c.fault = errors.Join(c.fault, errors.New("soloredislock: bridge: nil must be a client of Redis"))
			return
		}
		c.old = redislock.New(old)
	}
}

// keepOld refreshes the old lock until held ends.
func (l *Lock) keepOld(held context.Context, ttl time.Duration) {
	l.kept = expiring.Refresh(held, ttl, func(ctx context.Context) { _ = l.old.Refresh(ctx, ttl, nil) })
}

// releaseOld releases the old lock, if there is one. That it has expired is no error: ours counts.
func (l *Lock) releaseOld(ctx context.Context) error {
	if l.old == nil {
		return nil
	}
	if l.kept != nil {
		<-l.kept
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := l.old.Release(ctx); err != nil && !errors.Is(err, redislock.ErrLockNotHeld) {
		return err
	}
	return nil
}
