package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
)

// The states of an acquisition:
//
//	           Claim: granted
//	claiming ───────────────────────────────────────────▶ held ──▶ released, or lost
//	  │                                                     ▲
//	  │ Claim: held                    Claim: granted       │
//	  └────────────▶ waiting ───────────────────────────────┘
//	                   │  ▲
//	                   │  │ notified; or a third of the waiter's TTL has passed; or the holder's lease has
//	                   │  │ expired: Claim again, which keeps the position in the queue
//	                   │  └──┐
//	                   ├─────┘
//	                   └────────▶ given up: the context has ended, or the wait timeout has passed
//
// The store has one kind of lock: a number of permits that can be held at once. A mutex is one of
// one, a semaphore one of n, a reader one of very many, and a writer all of them. They differ in
// the order in which waiters are granted: see [protocol.Order].

// Lock is implemented by every kind of lock.
type Lock interface {
	// Name returns the name of the lock.
	Name() string

	// Acquire waits until the lock is granted, ctx ends, or the wait timeout passes. While the
	// store does not answer, it retries: see [ClaimFailed]. ctx is the parent of the hold's
	// context.
	//
	// The error matches [lease.ErrHeld] when the timeout passed while another held the lock, and
	// the cause of ctx when ctx ended. It matches [lease.ErrPermanent], without a wait, when the
	// settings are wrong, or when a retry cannot help, as with a missing permission.
	Acquire(ctx context.Context) (*Hold, error)

	// TryAcquire claims once. The error matches [lease.ErrHeld], and is a [*lease.HeldError], when
	// another holds the lock or is before this claim in the queue. After any other error, a grant
	// whose reply was lost is returned.
	TryAcquire(ctx context.Context) (*Hold, error)
}

// simple is a lock that consists of one claim.
type simple struct {
	locks    *Locks
	claim    protocol.LockClaim // without its request
	settings settings
}

func (s *Locks) simple(name string, permits, limit int, o settings) simple {
	return simple{locks: s, settings: o, claim: protocol.LockClaim{
		Name: name, Holder: s.holder, TTL: o.ttl,
		Permits: permits, Limit: limit, Order: o.order, Notify: o.broadcast,
	}}
}

// Name implements [Lock].
func (l simple) Name() string { return l.claim.Name }

// Acquire implements [Lock].
func (l simple) Acquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.settings.waitTimeout, l.wait)
}

// TryAcquire implements [Lock].
func (l simple) TryAcquire(ctx context.Context) (*Hold, error) { return l.acquire(ctx, 0, l.try) }

// attempt is one acquisition in progress.
type attempt struct {
	claim   protocol.LockClaim
	maxHold time.Duration // 0 for no limit
	began   time.Time
	parent  context.Context // of the hold's context
	ctx     context.Context // ends when the acquisition is given up
}

func (l simple) acquire(ctx context.Context, limit time.Duration, how func(attempt) (*Hold, error)) (*Hold, error) {
	began := time.Now()
	h, err := l.start(ctx, limit, began, how)
	if errors.Is(err, lease.ErrHeld) && l.claim.Limit == 1 && !l.claim.Notify && l.locks.holdsMutex(l.claim.Name) {
		err = fmt.Errorf("%w; this process itself holds it: see lock.Reentrant", err)
	}
	if err != nil && l.locks.observe != nil {
		l.locks.observe(GaveUp{Name: l.claim.Name, Waited: time.Since(began), Err: err})
	}
	return h, err
}

func (l simple) start(ctx context.Context, limit time.Duration, began time.Time, how func(attempt) (*Hold, error)) (*Hold, error) {
	c := l.claim
	c.Request = protocol.NewRequest()
	if err := l.check(c); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if l.waitsForItself(ctx) {
		return nil, protocol.Permanent(fmt.Errorf("lock: %q: the context is that of a hold of this lock, for whose end it would wait: release that first", c.Name))
	}
	if !l.locks.begin() {
		return nil, ErrClosed
	}
	defer l.locks.work.Done()
	waiting, stop := l.locks.until(ctx, limit)
	defer stop()
	return how(attempt{claim: c, maxHold: l.settings.maxHold, began: began, parent: ctx, ctx: waiting})
}

func (l simple) check(c protocol.LockClaim) error {
	faults := errors.Join(l.locks.fault, l.settings.fault, checkName(c.Name))
	if faults != nil {
		c.Name = "checked" // its fault is known
	}
	if c.Limit < 1 {
		return protocol.Permanent(fmt.Errorf("lock: semaphore %q: permits: %d must be from 1 to %d", c.Name, c.Limit, protocol.MaxPermits))
	}
	c.WaiterTTL = l.settings.waiterTTL
	err := errors.Join(faults, c.Validate())
	if l.settings.waiterTTL == 0 { // in a claim, 0 means not to wait
		err = errors.Join(err, fmt.Errorf("lock: %q: waiter ttl: \"0s\" must be from 1ms to 1h", c.Name))
	}
	if l.settings.maxHold < 0 {
		err = errors.Join(err, fmt.Errorf("lock: %q: max hold: %q must be at least 0", c.Name, l.settings.maxHold))
	}
	if l.settings.waitTimeout < 0 {
		err = errors.Join(err, fmt.Errorf("lock: %q: wait timeout: %q must be at least 0", c.Name, l.settings.waitTimeout))
	}
	return protocol.Permanent(err)
}

func (l simple) try(t attempt) (*Hold, error) {
	s := l.locks
	sent := steady.Now()
	a, err, answered := s.ask(t)
	switch {
	case !answered:
		return nil, err
	case err != nil:
		t.claim.Pending = true
		s.abandon(t.claim)
		return nil, err
	case a.Status == protocol.Granted:
		return s.keep(t, a, sent)
	default:
		return nil, &lease.HeldError{Name: t.claim.Name, Holder: a.Holder, Remaining: a.Remaining}
	}
}

// wait claims until the lock is granted or t is given up. With a queue, it enters it at once.
// Otherwise it claims without a position first, and then follows the interchangeable claims of this
// process: see gate.
func (l simple) wait(t attempt) (*Hold, error) {
	s := l.locks
	var w *waiter // nil until the claim may enter the queue
	enter := func() {
		w = s.enter(t.claim)
		t.claim.WaiterTTL = l.settings.waiterTTL
	}
	if t.claim.Order != protocol.OrderAny {
		enter()
	}
	defer func() {
		if w != nil {
			s.leave(w)
		}
	}()
	var last protocol.LockAnswer
	for asked, failures := 0, 0; ; asked++ {
		sent := steady.Now()
		a, err, answered := s.ask(t)
		switch {
		case !answered:
			return nil, t.gaveUp(last, err)
		case err != nil:
			t.claim.Pending = true
		case a.Status == protocol.Granted:
			return s.keep(t, a, sent)
		}
		if errors.Is(err, protocol.ErrPermanent) {
			s.abandon(t.claim)
			return nil, fmt.Errorf("lock: gave up %q: %w", t.claim.Name, err)
		}
		if asked == 0 && s.observe != nil {
			s.observe(Waiting{Name: t.claim.Name, Holder: a.Holder})
		}
		var pause time.Duration
		if err != nil {
			pause = sleep.Backoff(failures, minRetryInterval, l.settings.waiterTTL/6) // a short outage must cost nobody a position
			failures++
			if s.observe != nil && t.ctx.Err() == nil {
				s.observe(ClaimFailed{Name: t.claim.Name, Failures: failures, Waited: time.Since(t.began), Err: err})
			}
		} else {
			last, failures = a, 0
			if w == nil {
				pass, ok := s.admit(t.ctx, t.claim)
				if !ok {
					return nil, t.gaveUp(last, nil)
				}
				defer pass()
				enter()
				continue
			}
			pause = l.pause(a, asked)
		}
		if t.ctx.Err() == nil {
			w.sleep(t.ctx, pause)
		}
		if t.ctx.Err() != nil {
			s.abandon(t.claim)
			return nil, t.gaveUp(last, err)
		}
	}
}

// errWaitTimeout is the cause of a wait that reached its timeout.
var errWaitTimeout = errors.New("the wait timeout has passed")

// gaveUp returns the error of a wait that ended: its cause, and who held the lock or the last error
// of the store.
func (t attempt) gaveUp(a protocol.LockAnswer, last error) error {
	cause := context.Cause(t.ctx)
	waited := time.Since(t.began).Round(time.Millisecond)
	if last == nil || errors.Is(last, cause) || errors.Is(last, t.ctx.Err()) {
		last = nil
		if a.Status != 0 {
			last = &lease.HeldError{Name: t.claim.Name, Holder: a.Holder, Remaining: a.Remaining}
		}
	}
	switch {
	case last == nil:
		return fmt.Errorf("lock: gave up %q after %s: %w", t.claim.Name, waited, cause)
	case errors.Is(cause, errWaitTimeout):
		return fmt.Errorf("lock: gave up %q after %s, its wait timeout: %w", t.claim.Name, waited, last)
	default:
		return fmt.Errorf("lock: gave up %q after %s: %w (%w)", t.claim.Name, waited, cause, last)
	}
}

// minRetryInterval is the first pause of a waiter that is not subscribed, or whose store has
// failed.
const minRetryInterval = 25 * time.Millisecond

// pause returns how long a waiter sleeps before it claims again without a notification. Without a
// subscription, pauses are short at first and grow.
func (l simple) pause(a protocol.LockAnswer, asked int) time.Duration {
	pause := l.settings.waiterTTL / 3
	if l.locks.isSubscribed() {
		pause = jittered(pause)
	} else {
		pause = sleep.Backoff(asked, minRetryInterval, pause)
	}
	if a.Remaining > 0 && a.Remaining < pause { // a lease that expires notifies nobody
		pause = a.Remaining + rand.N(min(a.Remaining/8, 20*time.Millisecond)+1)
	}
	return pause
}

// jittered returns d give or take a fifth, so that waiters do not claim in step.
func jittered(d time.Duration) time.Duration { return d - d/5 + rand.N(d/5*2+1) }
