// Package soloredsync has the surface of github.com/go-redsync/redsync/v4 on package lock.
//
//	rs := soloredsync.New(locks) // in place of redsync.New(pool)
//	mutex := rs.NewMutex("my-mutex", soloredsync.WithExpiry(10*time.Second))
//	if err := mutex.Lock(); err != nil { … }
//	defer mutex.Unlock()
//
// New: a mutex has a fencing token, and a context that ends when it is lost. With
// [WithKeepAlive] it lasts until it is unlocked, and needs no Extend.
//
// What cannot be given, so that a program which uses it does not compile until the line is gone:
//
//   - WithValue and WithGenValueFunc: the store makes the tokens, so a mutex cannot be unlocked
//     from elsewhere by its value.
//   - WithSetNXOnExtend: a mutex that was lost is not taken again behind its holder's back.
//   - WithDriftFactor, WithTimeoutFactor, WithFailFast, WithShufflePools: the store decides by its
//     own clock, and a quorum of servers is package lease/quorum.
//   - The keys of redsync: locks are in the namespace of the store, so the two libraries do not
//     exclude each other. [Bridge] takes both locks while replicas move from one to the other.
//
// A process that freezes holds its mutex for up to an expiry longer than it asked for: the lock is
// renewed until its end has come.
package soloredsync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/solotick/solotick/internal/expiring"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lock"
)

// These are redsync's own, so that a program needs one import, and that its errors can be compared
// with either, by == too.
var (
	// ErrFailed is returned by Lock when its context ended, and matched when the store failed.
	ErrFailed = redsync.ErrFailed
	// ErrExtendFailed is redsync's error of an extension that takes longer than the expiry, which
	// does not happen here: Extend asks no server.
	ErrExtendFailed = redsync.ErrExtendFailed
	// ErrLockAlreadyExpired is returned by Unlock when the mutex is not held any more.
	ErrLockAlreadyExpired = redsync.ErrLockAlreadyExpired
)

// ErrTaken is the type of the error of Lock, as a pointer, when another holds the mutex, and of
// Extend when it is not held any more. Its Nodes are always [0].
type ErrTaken = redsync.ErrTaken

// DelayFunc says how long to wait before a try, from 1.
type DelayFunc = redsync.DelayFunc

// Redsync makes mutexes. It is safe for concurrent use.
type Redsync struct {
	locks     *lock.Locks
	keepAlive bool
	old       *redsync.Redsync // nil without Bridge
	fault     error
}

// RedsyncOption changes a default of [New].
type RedsyncOption func(*Redsync)

// WithKeepAlive renews mutexes until they are unlocked. The expiry is then how long others wait
// when the process has died, and Extend only says whether the mutex is held.
func WithKeepAlive() RedsyncOption { return func(r *Redsync) { r.keepAlive = true } }

// New makes a Redsync of locks, which stay the caller's. Locking a mutex returns the faults of the
// arguments.
func New(locks *lock.Locks, options ...RedsyncOption) *Redsync {
	r := &Redsync{locks: locks}
	if locks == nil {
		r.fault = errors.New("soloredsync: locks: nil must be locks")
	}
	for i, option := range options {
		if option == nil {
			r.fault = errors.Join(r.fault, fmt.Errorf("soloredsync: options[%d]: nil must be an option", i))
			continue
		}
		option(r)
	}
	return r
}

// Option changes a default of a mutex.
type Option func(*Mutex)

// WithExpiry is how long a mutex is held unless it is extended, at least 1 ms. The default is 8 s.
func WithExpiry(expiry time.Duration) Option { return func(m *Mutex) { m.expiry = expiry } }

// WithTries is how often Lock tries, at least 1. The default is 32.
func WithTries(tries int) Option { return func(m *Mutex) { m.tries = tries } }

// WithRetryDelay is the wait between tries. The default is random, from 50 ms to 250 ms.
func WithRetryDelay(delay time.Duration) Option {
	return WithRetryDelayFunc(func(int) time.Duration { return delay })
}

// WithRetryDelayFunc computes the wait before a try.
func WithRetryDelayFunc(f DelayFunc) Option { return func(m *Mutex) { m.delay = f } }

// NewMutex makes the mutex of a name, which is any string. Locking it returns the faults of the
// options.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{name: name, expiry: 8 * time.Second, tries: 32, keepAlive: r.keepAlive, fault: r.fault, delay: func(int) time.Duration {
		return 50*time.Millisecond + rand.N(200*time.Millisecond)
	}}
	for i, option := range options {
		if option == nil {
			m.fault = errors.Join(m.fault, fmt.Errorf("soloredsync: options[%d]: nil must be an option", i))
			continue
		}
		option(m)
	}
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			m.fault = errors.Join(m.fault, fmt.Errorf("soloredsync: %s: %q must be %s", field, fmt.Sprint(value), rule))
		}
	}
	check(m.expiry >= time.Millisecond, "expiry", m.expiry, "at least 1ms")
	check(m.tries >= 1, "tries", m.tries, "at least 1")
	check(m.delay != nil, "retry delay", nil, "a function")
	if m.fault == nil {
		m.lock = r.locks.Mutex(lock.Name(name), lock.WithTTL(m.expiry))
		m.old = r.oldMutex(name, m.expiry)
	}
	return m
}

// Mutex is a distributed lock, which one caller holds at a time. It is safe for concurrent use.
type Mutex struct {
	name      string
	expiry    time.Duration
	tries     int
	delay     DelayFunc
	keepAlive bool
	fault     error
	lock      *lock.Mutex
	old       *redsync.Mutex // nil without Bridge

	mu   sync.Mutex
	hold *expiring.Hold  // the last one; nil before the first
	kept <-chan struct{} // closed when the old mutex is extended no more; nil when it never was
}

// Name returns the name that NewMutex was given.
func (m *Mutex) Name() string { return m.name }

// Lock is LockContext without a context.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// TryLock is TryLockContext without a context.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext tries once. The error is as that of LockContext.
func (m *Mutex) TryLockContext(ctx context.Context) error { return m.lockIn(ctx, 1) }

// LockContext locks the mutex. The error is as redsync's: an [*ErrTaken] when another holds the
// mutex at the last try, and [ErrFailed] when ctx ends between tries. That of a store which failed
// matches ErrFailed and has a [*redsync.RedisError]. ctx limits the tries; the mutex outlives it.
func (m *Mutex) LockContext(ctx context.Context) error { return m.lockIn(ctx, m.tries) }

func (m *Mutex) lockIn(ctx context.Context, tries int) (err error) {
	if m.fault != nil {
		return m.fault
	}
	for i := range tries {
		if i > 0 {
			select {
			case <-time.After(m.delay(i)):
			case <-ctx.Done():
				return ErrFailed
			}
		}
		if err = m.try(ctx); err == nil {
			return nil
		}
	}
	if taken := new(ErrTaken); errors.As(err, &taken) {
		return taken
	}
	return fmt.Errorf("%w: %q: %w", ErrFailed, m.name, &redsync.RedisError{Err: err})
}

// try claims once: the old mutex first, if there is one.
func (m *Mutex) try(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold != nil && m.hold.Held() {
		return taken()
	}
	if m.old != nil {
		m.awaitKeptLocked()
		if err := m.old.TryLockContext(ctx); err != nil {
			return fmt.Errorf("the old mutex: %w", err)
		}
	}
	lasts := m.expiry
	if m.keepAlive {
		lasts = 0
	}
	hold, err := expiring.TryAcquire(ctx, m.lock, lasts)
	if err == nil {
		m.hold = hold
		m.keepOldLocked()
		return nil
	}
	old := m.unlockOldLocked(ctx)
	if errors.Is(err, lease.ErrHeld) {
		return taken() // the old mutex runs out, otherwise
	}
	return errors.Join(err, old)
}

// taken returns the error that redsync returns when its only server refuses.
func taken() error { return &ErrTaken{Nodes: []int{0}} }

// Unlock is UnlockContext without a context.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext unlocks the mutex. It returns false and [ErrLockAlreadyExpired] when the mutex was
// not held any more.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil {
		return false, ErrLockAlreadyExpired
	}
	held, err := m.hold.Release(ctx)
	old := m.unlockOldLocked(ctx)
	if !held && err == nil || errors.Is(err, lease.ErrFenced) {
		return false, ErrLockAlreadyExpired // the old mutex runs out, otherwise
	}
	return held, errors.Join(err, old)
}

// Extend is ExtendContext without a context.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext makes the mutex last for its expiry from now. It returns false and an [*ErrTaken]
// when the mutex is not held any more, as redsync does.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil || !m.hold.Extend(m.expiry) {
		return false, taken()
	}
	if m.old != nil && m.kept == nil {
		return m.old.ExtendContext(ctx)
	}
	return true, nil
}

// Until is when the mutex expires unless it is extended; the zero time when it is not held.
func (m *Mutex) Until() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil {
		return time.Time{}
	}
	return m.hold.Until()
}

// Valid is ValidContext without a context.
func (m *Mutex) Valid() (bool, error) { return m.ValidContext(context.Background()) }

// ValidContext reports whether the mutex is held. It does not ask the store, and returns no error.
func (m *Mutex) ValidContext(context.Context) (bool, error) { return !m.Until().IsZero(), nil }

// Value returns the fencing token in decimal digits; it is empty before the first Lock.
func (m *Mutex) Value() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil {
		return ""
	}
	return strconv.FormatInt(m.hold.Token(), 10)
}

// Context returns a context that ends when the mutex is lost, has expired or is unlocked. Before
// the first Lock it has ended.
func (m *Mutex) Context() context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		return ended
	}
	return m.hold.Context()
}
