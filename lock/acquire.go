package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/protocol"
)

// Lock is what every kind of lock can do.
type Lock interface {
	// Name returns the name of the lock.
	Name() string

	// Acquire waits until the lock is granted, ctx ends, or the wait limit passes. While the store is away it goes on
	// asking: see [ClaimFailed]. ctx is the parent of the hold's context. The error matches [lease.ErrHeld] when the limit
	// passed while another held it; the cause of ctx when that ended; or [protocol.ErrPermanent], without a wait, when the
	// settings of the lock are wrong or the store fails in a way that time does not cure, such as a missing right.
	Acquire(ctx context.Context) (*Hold, error)

	// TryAcquire asks once. The error matches [lease.ErrHeld], and is a [*lease.HeldError], when another holds the lock
	// or goes first. After any other error it is given back, should it have been granted.
	TryAcquire(ctx context.Context) (*Hold, error)
}

// simple is a lock that is one claim.
type simple struct {
	locks    *Locks
	claim    protocol.LockClaim // but for the request
	settings settings
}

func (s *Locks) simple(name string, permits, limit int, o settings) simple {
	return simple{locks: s, settings: o, claim: protocol.LockClaim{
		Name: name, Holder: s.holder, Term: o.term,
		Permits: permits, Limit: limit, Turn: o.turn, Tell: o.tell,
	}}
}

// Name implements [Lock].
func (l simple) Name() string { return l.claim.Name }

// Acquire implements [Lock].
func (l simple) Acquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.settings.waitLimit, l.wait)
}

// TryAcquire implements [Lock].
func (l simple) TryAcquire(ctx context.Context) (*Hold, error) { return l.acquire(ctx, 0, l.try) }

// attempt is one acquisition that is under way.
type attempt struct {
	claim  protocol.LockClaim
	most   time.Duration // for which it may be held; 0 for no bound
	began  time.Time
	parent context.Context // of the hold's context
	ctx    context.Context // ends when it is to be given up
}

func (l simple) acquire(ctx context.Context, limit time.Duration, how func(attempt) (*Hold, error)) (*Hold, error) {
	began := time.Now()
	h, err := l.ask(ctx, limit, began, how)
	if errors.Is(err, lease.ErrHeld) && l.locks.holdsAll(l.claim) {
		err = fmt.Errorf("%w; it is this process itself that holds it: see lock.Reentrant", err)
	}
	if err != nil && l.locks.observe != nil {
		l.locks.observe(GaveUp{Name: l.claim.Name, Waited: time.Since(began), Err: err})
	}
	return h, err
}

func (l simple) ask(ctx context.Context, limit time.Duration, began time.Time, how func(attempt) (*Hold, error)) (*Hold, error) {
	c := l.claim
	c.Request = protocol.NewRequest()
	if err := l.check(c); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if !l.locks.begin() {
		return nil, ErrClosed
	}
	defer l.locks.work.Done()
	waiting, stop := l.locks.until(ctx, limit)
	defer stop()
	return how(attempt{claim: c, most: l.settings.maxHold, began: began, parent: ctx, ctx: waiting})
}

func (l simple) check(c protocol.LockClaim) error {
	faults := errors.Join(l.locks.fault, l.settings.fault, checkName(c.Name))
	if faults != nil {
		c.Name = "checked" // already
	}
	if c.Limit < 1 {
		return protocol.Permanent(fmt.Errorf("lock: semaphore %q: permits: %d must be from 1 to %d", c.Name, c.Limit, protocol.MaxPermits))
	}
	c.Ticket = l.settings.ticket
	err := errors.Join(faults, c.Validate())
	if l.settings.ticket == 0 { // of a claim it would mean not to wait
		err = errors.Join(err, fmt.Errorf("lock: %q: ticket: \"0s\" must be from 1ms to 1h", c.Name))
	}
	if l.settings.maxHold < 0 {
		err = errors.Join(err, fmt.Errorf("lock: %q: max hold: %q must be at least 0", c.Name, l.settings.maxHold))
	}
	if l.settings.waitLimit < 0 {
		err = errors.Join(err, fmt.Errorf("lock: %q: wait limit: %q must be at least 0", c.Name, l.settings.waitLimit))
	}
	return protocol.Permanent(err)
}

func (l simple) try(t attempt) (*Hold, error) {
	s := l.locks
	sent := lease.Sent()
	a, err := s.ask(t.ctx, t.claim)
	switch {
	case err == nil && a.Status == protocol.Granted:
		return s.keep(t, a, sent)
	case err == nil:
		return nil, &lease.HeldError{Name: t.claim.Name, Holder: a.Holder, Left: a.Left}
	case t.ctx.Err() != nil && t.parent.Err() == nil:
		err = ErrClosed
	}
	s.takeBack(t.claim)
	return nil, err
}

// wait asks until the lock is granted or t is to be given up. Where the first to come goes first it asks for a place in line at
// once. Otherwise it does not before it has heard that the lock is held, and not before those of this process that wait
// already: see gate.
func (l simple) wait(t attempt) (*Hold, error) {
	s := l.locks
	var w *waiter // nil until it may wait in line
	inLine := func() {
		w = s.enter(t.claim)
		t.claim.Ticket = l.settings.ticket
	}
	if t.claim.Turn != protocol.TurnAny {
		inLine()
	}
	defer func() {
		if w != nil {
			s.leave(w)
		}
	}()
	var last protocol.LockAnswer
	for asked, failures := 0, 0; ; asked++ {
		sent := lease.Sent()
		a, err := s.ask(t.ctx, t.claim)
		if err == nil && a.Status == protocol.Granted {
			return s.keep(t, a, sent)
		}
		if errors.Is(err, protocol.ErrPermanent) {
			s.takeBack(t.claim)
			return nil, fmt.Errorf("lock: gave up %q: %w", t.claim.Name, err)
		}
		if asked == 0 && s.observe != nil {
			s.observe(Waiting{Name: t.claim.Name, Holder: a.Holder})
		}
		var pause time.Duration
		if err != nil {
			pause = jittered(min(firstPause<<min(failures, 10), l.settings.ticket/6)) // so that a short outage costs nobody a place in line
			failures++
			if s.observe != nil && t.ctx.Err() == nil {
				s.observe(ClaimFailed{Name: t.claim.Name, Failures: failures, Waited: time.Since(t.began), Err: err})
			}
		} else {
			last, failures = a, 0
			if w == nil {
				pass, ok := s.queue(t.ctx, t.claim)
				if !ok {
					return nil, t.gaveUp(last, nil)
				}
				defer pass()
				inLine()
				continue
			}
			pause = l.pause(a, asked)
		}
		if t.ctx.Err() == nil {
			w.sleep(t.ctx, pause)
		}
		if t.ctx.Err() != nil {
			s.takeBack(t.claim)
			return nil, t.gaveUp(last, err)
		}
	}
}

// errWaited is the cause of a wait that has reached its limit.
var errWaited = errors.New("the wait limit has passed")

// gaveUp says why the wait has ended: what ended it, and who held the lock or what the last claim failed with.
func (t attempt) gaveUp(a protocol.LockAnswer, last error) error {
	cause := context.Cause(t.ctx)
	waited := time.Since(t.began).Round(time.Millisecond)
	if last == nil || errors.Is(last, cause) || errors.Is(last, t.ctx.Err()) {
		last = nil
		if a.Status != 0 {
			last = &lease.HeldError{Name: t.claim.Name, Holder: a.Holder, Left: a.Left}
		}
	}
	switch {
	case last == nil:
		return fmt.Errorf("lock: gave up %q after %s: %w", t.claim.Name, waited, cause)
	case errors.Is(cause, errWaited):
		return fmt.Errorf("lock: gave up %q after %s, its wait limit: %w", t.claim.Name, waited, last)
	default:
		return fmt.Errorf("lock: gave up %q after %s: %w (%w)", t.claim.Name, waited, cause, last)
	}
}

// firstPause is how soon a waiter asks again at first, when it cannot be told or the store has failed.
const firstPause = 25 * time.Millisecond

// pause is how long to wait for being told before asking again. A waiter that cannot be told asks often at first, and then more
// and more seldom.
func (l simple) pause(a protocol.LockAnswer, asked int) time.Duration {
	pause := l.settings.ticket / 3
	if !l.locks.hears() {
		pause = min(pause, firstPause<<min(asked, 10))
	}
	pause = jittered(pause)
	if a.Left > 0 && a.Left < pause { // then nobody tells
		pause = a.Left + rand.N(min(a.Left/8, 20*time.Millisecond)+1)
	}
	return pause
}

// jittered is d give or take a fifth: so those who wait do not stay in step.
func jittered(d time.Duration) time.Duration { return d - d/5 + rand.N(d/5*2+1) }
