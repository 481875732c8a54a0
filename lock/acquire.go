package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/solotick/solotick/lease"
)

// Lock is what every kind of lock can do.
type Lock interface {
	// Name returns the name of the lock.
	Name() string

	// Acquire waits until the lock is granted, ctx ends, or the wait limit passes. While the store is away it goes on
	// asking. ctx is the parent of the hold's context. The error matches [lease.ErrHeld] when the limit passed while
	// another held it, or the cause of ctx when that ended, or says what is wrong with the lock's settings.
	Acquire(ctx context.Context) (*Hold, error)

	// TryAcquire asks once. The error matches [lease.ErrHeld], and is a [*lease.HeldError], when another holds the lock
	// or goes first. After any other error it is given back, should it have been granted.
	TryAcquire(ctx context.Context) (*Hold, error)
}

// simple is a lock that is one claim.
type simple struct {
	locks    *Locks
	claim    lease.Claim // but for the request
	settings settings
}

func (s *Locks) simple(name string, permits, limit int, o settings) simple {
	return simple{locks: s, settings: o, claim: lease.Claim{
		Name: name, Holder: s.holder, Term: o.term, MaxHold: o.maxHold,
		Permits: permits, Limit: limit, Turn: o.turn, Tell: o.tell,
	}}
}

// Name implements [Lock].
func (l simple) Name() string { return l.claim.Name }

// Acquire implements [Lock].
func (l simple) Acquire(ctx context.Context) (*Hold, error) { return l.acquire(ctx, l.claim, true) }

// TryAcquire implements [Lock].
func (l simple) TryAcquire(ctx context.Context) (*Hold, error) { return l.acquire(ctx, l.claim, false) }

func (l simple) acquire(ctx context.Context, c lease.Claim, waits bool) (*Hold, error) {
	s := l.locks
	began := time.Now()
	h, err := l.ask(ctx, c, waits, began)
	if err != nil && s.observe != nil {
		s.observe(GaveUp{Name: c.Name, Waited: time.Since(began), Err: err})
	}
	return h, err
}

// ask asks once, and then waits if it may: a lock that is free costs one round trip.
func (l simple) ask(ctx context.Context, c lease.Claim, waits bool, began time.Time) (*Hold, error) {
	s := l.locks
	c.Request = lease.NewRequest()
	valid := c
	if waits {
		valid.Ticket = l.settings.ticket
	}
	if c.Limit < 1 {
		return nil, fmt.Errorf("lock: semaphore %q: permits: %d must be from 1 to %d", c.Name, c.Limit, lease.MaxPermits)
	}
	if err := valid.Validate(); err != nil {
		return nil, err
	}
	if s.life.Err() != nil {
		return nil, ErrClosed
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	sent := lease.Sent()
	a, err := s.store.Claim(ctx, c)
	switch {
	case err == nil && a.Status == lease.Granted:
		return s.keep(ctx, c, a, sent, time.Since(began)), nil
	case waits:
		return l.wait(ctx, valid, a, err, began)
	case err == nil:
		return nil, &lease.HeldError{Name: c.Name, Holder: a.Holder, Left: a.Left}
	default:
		s.takeBack(c)
		return nil, err
	}
}

// wait waits for the turn of a claim that was answered so.
func (l simple) wait(ctx context.Context, c lease.Claim, a lease.Answer, err error, began time.Time) (*Hold, error) {
	s := l.locks
	if s.observe != nil {
		s.observe(Waiting{Name: c.Name, Holder: a.Holder})
	}
	waiting, stop := ctx, context.CancelFunc(func() {})
	if l.settings.waitLimit > 0 {
		waiting, stop = context.WithTimeoutCause(ctx, l.settings.waitLimit-time.Since(began), errWaited)
	}
	defer stop()
	waiting, end := context.WithCancelCause(waiting)
	defer end(nil)
	defer context.AfterFunc(s.life, func() { end(ErrClosed) })()

	pass, ok := s.queue(waiting, c)
	if !ok {
		return nil, l.gaveUp(waiting, c, a, err, began)
	}
	defer pass()
	w := s.enter(c)
	defer s.leave(w)
	asked := false
	for failures, alone := 0, 0; ; alone++ {
		sent := lease.Sent()
		var b lease.Answer
		b, err = s.store.Claim(waiting, c)
		asked = true
		pause := l.pause(b, alone)
		switch {
		case err != nil:
			pause = jittered(min(25*time.Millisecond<<min(failures, 10), c.Ticket))
			failures++
		case b.Status == lease.Granted:
			return s.keep(ctx, c, b, sent, time.Since(began)), nil
		default:
			a, failures = b, 0
		}
		if waiting.Err() == nil {
			w.sleep(waiting, pause)
		}
		if waiting.Err() != nil {
			if asked {
				s.takeBack(c)
			}
			return nil, l.gaveUp(waiting, c, a, err, began)
		}
	}
}

// errWaited is the cause of a wait that has reached its limit.
var errWaited = errors.New("the wait limit has passed")

// gaveUp says why the wait has ended: what ended it, and who held the lock or what the last claim failed with.
func (l simple) gaveUp(waiting context.Context, c lease.Claim, a lease.Answer, last error, began time.Time) error {
	cause := context.Cause(waiting)
	waited := time.Since(began).Round(time.Millisecond)
	if last == nil || errors.Is(last, cause) || errors.Is(last, waiting.Err()) {
		last = nil
		if a.Status != 0 {
			last = &lease.HeldError{Name: c.Name, Holder: a.Holder, Left: a.Left}
		}
	}
	switch {
	case last == nil:
		return fmt.Errorf("lock: gave up %q after %s: %w", c.Name, waited, cause)
	case errors.Is(cause, errWaited):
		return fmt.Errorf("lock: gave up %q after %s, its wait limit: %w", c.Name, waited, last)
	default:
		return fmt.Errorf("lock: gave up %q after %s: %w (%w)", c.Name, waited, cause, last)
	}
}

// pause is how long to wait for being told before asking again. A waiter that cannot be told asks often at first, and then more
// and more seldom.
func (l simple) pause(a lease.Answer, asked int) time.Duration {
	pause := l.settings.ticket / 3
	if !l.locks.hears() {
		pause = min(pause, 25*time.Millisecond<<min(asked, 10))
	}
	pause = jittered(pause)
	if a.Left > 0 && a.Left < pause { // then nobody tells
		pause = a.Left + rand.N(min(a.Left/8, 20*time.Millisecond)+1)
	}
	return pause
}

// jittered is d give or take a fifth: so those who wait do not stay in step.
func jittered(d time.Duration) time.Duration { return d - d/5 + rand.N(d/5*2+1) }

// takeBack gives back, in the background, whatever the claim may have got: its place in line, or a grant whose answer was lost.
func (s *Locks) takeBack(c lease.Claim) {
	s.background(func() {
		ctx, cancel := context.WithTimeout(s.life, max(c.Term, lastSecond))
		defer cancel()
		g := lease.Grant{
			Name: c.Name, Holder: c.Holder, Request: c.Request, Attempt: 1, Term: c.Term, Permits: c.Permits, Limit: c.Limit,
		}
		for pause := 25 * time.Millisecond; s.store.Release(ctx, g) != nil; pause = min(2*pause, time.Second) {
			t := time.NewTimer(jittered(pause))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return
			}
		}
	})
}
