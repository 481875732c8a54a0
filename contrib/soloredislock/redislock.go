// Package soloredislock has the surface of github.com/bsm/redislock on package lock.
//
//	locker := soloredislock.New(locks) // in place of redislock.New(client)
//	lock, err := locker.Obtain(ctx, "my-key", 100*time.Millisecond, nil)
//	if errors.Is(err, soloredislock.ErrNotObtained) { … }
//	defer lock.Release(ctx)
//
// New: the lock has a fencing token, and a context that ends when it is lost. With
// [WithKeepAlive] it lasts until it is released, and needs no Refresh.
//
// What cannot be given:
//
//   - A token of one's own, Options.Token: the store makes them. Obtain refuses it. So a lock
//     cannot be taken over by a process that knows its token.
//   - Metadata in Redis: it is kept in this process only.
//   - The keys of redislock: locks are in the namespace of the store, so the two libraries do not
//     exclude each other. [Bridge] takes both locks while replicas move from one to the other.
//
// A process that freezes holds its lock for up to a TTL longer than it asked for: the lock is
// renewed until its end has come.
package soloredislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bsm/redislock"

	"github.com/solotick/solotick/internal/expiring"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lock"
)

// These are redislock's own, so that a program needs one import, and that its errors can be
// compared with either, by == too.
type (
	// Options are those of one call. Token must be empty.
	Options = redislock.Options
	// RetryStrategy says when Obtain tries again.
	RetryStrategy = redislock.RetryStrategy
)

var (
	// ErrNotObtained is returned as it is when another holds the lock, and by Refresh when it is
	// not held.
	ErrNotObtained = redislock.ErrNotObtained
	// ErrLockNotHeld is returned as it is by Release when the lock is not held any more.
	ErrLockNotHeld = redislock.ErrLockNotHeld
)

// NoRetry tries once.
func NoRetry() RetryStrategy { return redislock.NoRetry() }

// LinearBackoff tries again each time after the same wait.
func LinearBackoff(backoff time.Duration) RetryStrategy { return redislock.LinearBackoff(backoff) }

// ExponentialBackoff doubles the wait, which starts at 4 ms, within the bounds; 0 is no upper one.
func ExponentialBackoff(least, most time.Duration) RetryStrategy {
	return redislock.ExponentialBackoff(least, most)
}

// LimitRetry ends a strategy after a number of retries.
func LimitRetry(s RetryStrategy, most int) RetryStrategy { return redislock.LimitRetry(s, most) }

// Client obtains locks. It is safe for concurrent use.
type Client struct {
	locks     *lock.Locks
	keepAlive bool
	old       *redislock.Client // nil without Bridge
	fault     error
}

// Option changes a default of [New].
type Option func(*Client)

// WithKeepAlive renews locks until they are released. The TTL is then how long others wait when the
// process has died, and Refresh only says whether the lock is held.
func WithKeepAlive() Option { return func(c *Client) { c.keepAlive = true } }

// New makes a Client of locks, which stay the caller's. Obtain returns the faults of the arguments.
func New(locks *lock.Locks, options ...Option) *Client {
	c := &Client{locks: locks}
	if locks == nil {
		c.fault = errors.New("soloredislock: locks: nil must be locks")
	}
	for i, option := range options {
		if option == nil {
			c.fault = errors.Join(c.fault, fmt.Errorf("soloredislock: options[%d]: nil must be an option", i))
			continue
		}
		option(c)
	}
	return c
}

// Obtain is a short-cut for New(locks).Obtain.
func Obtain(ctx context.Context, locks *lock.Locks, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(locks).Obtain(ctx, key, ttl, opt)
}

// Obtain obtains the lock of a key, any string, for ttl, at least 1 ms. The error is
// [ErrNotObtained] when another holds it and the strategy of opt has no more retries. Without a
// deadline of ctx, ttl limits the retries.
func (c *Client) Obtain(ctx context.Context, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	o := Options{}
	if opt != nil {
		o = *opt
	}
	if o.RetryStrategy == nil {
		o.RetryStrategy = NoRetry()
	}
	if err := c.check(ttl, o); err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, ttl)
		defer cancel()
		ctx = limited
	}
	for {
		l, err := c.try(ctx, key, ttl, o)
		if !errors.Is(err, ErrNotObtained) {
			return l, err
		}
		wait := o.RetryStrategy.NextBackoff()
		if wait < 1 {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) check(ttl time.Duration, o Options) error {
	err := c.fault
	if ttl < time.Millisecond {
		err = errors.Join(err, fmt.Errorf("soloredislock: ttl: %q must be at least 1ms", ttl))
	}
	if o.Token != "" {
		err = errors.Join(err, errors.New("soloredislock: options: Token must be empty: the store makes the tokens"))
	}
	return err
}

// try claims once: the old lock first, if there is one.
func (c *Client) try(ctx context.Context, key string, ttl time.Duration, o Options) (*Lock, error) {
	l := &Lock{key: key, metadata: o.Metadata}
	if c.old != nil {
		var err error
		switch l.old, err = c.old.Obtain(ctx, key, ttl, nil); {
		case errors.Is(err, ErrNotObtained):
			return nil, ErrNotObtained
		case err != nil:
			return nil, fmt.Errorf("soloredislock: obtain %q: the old lock: %w", key, err)
		}
	}
	lasts := ttl
	if c.keepAlive {
		lasts = 0
	}
	var err error
	l.hold, err = expiring.TryAcquire(ctx, c.locks.Mutex(lock.Name(key), lock.WithTTL(ttl)), lasts)
	if err == nil {
		if l.old != nil && c.keepAlive {
			l.keepOld(l.hold.Context(), ttl)
		}
		return l, nil
	}
	old := l.releaseOld(ctx)
	if errors.Is(err, lease.ErrHeld) {
		return nil, ErrNotObtained // the old lock runs out, otherwise
	}
	return nil, fmt.Errorf("soloredislock: obtain %q: %w", key, errors.Join(err, old))
}

// Lock is a lock that was obtained. It is safe for concurrent use.
type Lock struct {
	key, metadata string
	hold          *expiring.Hold
	old           *redislock.Lock // nil without Bridge
	kept          <-chan struct{} // closed when the old lock is refreshed no more; nil when it never was
}

// Key returns the key that was obtained.
func (l *Lock) Key() string { return l.key }

// Metadata returns that of the options.
func (l *Lock) Metadata() string { return l.metadata }

// Token returns the fencing token in decimal digits: a higher number for each later holder.
func (l *Lock) Token() string { return strconv.FormatInt(l.Fence(), 10) }

// Fence returns the fencing token.
func (l *Lock) Fence() int64 { return l.hold.Token() }

// Context returns a context that ends when the lock is lost, has expired or is released.
func (l *Lock) Context() context.Context { return l.hold.Context() }

// TTL returns how long the lock lasts unless it is refreshed; 0 when it is not held any more. It
// does not ask the store.
func (l *Lock) TTL(context.Context) (time.Duration, error) {
	if until := l.hold.Until(); !until.IsZero() {
		return max(time.Until(until), 0), nil
	}
	return 0, nil
}

// Refresh makes the lock last for ttl from now. The error is [ErrNotObtained] when it is not
// held any more.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration, opt *Options) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("soloredislock: ttl: %q must be at least 1ms", ttl)
	}
	if !l.hold.Extend(ttl) {
		return ErrNotObtained
	}
	if l.old != nil {
		return l.old.Refresh(ctx, ttl, opt)
	}
	return nil
}

// Release releases the lock. The error is [ErrLockNotHeld] when it was not held any more. A
// nil Lock is not held.
func (l *Lock) Release(ctx context.Context) error {
	if l == nil {
		return ErrLockNotHeld
	}
	held, err := l.hold.Release(ctx)
	old := l.releaseOld(ctx)
	if !held && err == nil || errors.Is(err, lease.ErrFenced) {
		return ErrLockNotHeld // the old lock runs out, otherwise
	}
	return errors.Join(err, old)
}
