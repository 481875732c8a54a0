package soloredislock

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
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

// keepOld refreshes the old lock while ours is held, if that is renewed.
func (l *Lock) keepOld(ttl time.Duration, keepAlive bool) {
	if l.old == nil || !keepAlive {
		return
	}
	l.kept = make(chan struct{})
	go l.refreshOld(l.hold.Context(), ttl)
}

// refreshOld refreshes the old lock until held ends.
func (l *Lock) refreshOld(held context.Context, ttl time.Duration) {
	defer close(l.kept)
	for {
		select {
		case <-time.After(ttl / 3):
		case <-held.Done():
			return
		}
		ctx, cancel := context.WithTimeout(held, ttl/3)
		_ = l.old.Refresh(ctx, ttl, nil) // it is tried again
		cancel()
	}
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
