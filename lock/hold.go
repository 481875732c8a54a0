package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
)

// Hold is a lock that is held until it is released or lost. Always release it, also after a loss.
// It is safe for concurrent use.
type Hold struct {
	lease   *lease.Lease
	ctx     context.Context
	once    sync.Once
	err     error // of the release
	release func(context.Context) error
}

// Context returns a context that ends when the lock is lost or released: see [lease.Lease.Context].
// It also ends with the context of Acquire, but the lock is then still held: release it.
func (h *Hold) Context() context.Context { return h.ctx }

// Name returns the name of the lock.
func (h *Hold) Name() string { return h.lease.Name() }

// Token returns the fencing token: higher for every later grant of the name.
func (h *Hold) Token() int64 { return h.lease.Token() }

// Valid reports whether the lock is proved held at this instant: see [lease.Lease.Valid].
func (h *Hold) Valid() bool { return h.lease.Valid() }

// Deadline returns when the hold ends unless it is renewed before, by the local clock.
func (h *Hold) Deadline() time.Time { return h.lease.Deadline() }

// OnRenewal calls f after each renewal: see [lease.Lease.OnRenewal].
func (h *Hold) OnRenewal(f func(deadline time.Time)) (stop func()) { return h.lease.OnRenewal(f) }

// Release releases the lock and notifies the next waiter. If ctx has ended, it still tries for a
// second. Later calls return the result of the first one. The error matches [lease.ErrFenced]
// when the lock was not held any more.
func (h *Hold) Release(ctx context.Context) error {
	h.once.Do(func() { h.err = h.release(ctx) })
	return h.err
}

// heldKey is the context key of what is held of a lock under a context.
type heldKey struct {
	locks *Locks
	name  string
}

// heldPermits are the permits of a hold, and of those under whose context it was acquired.
type heldPermits struct {
	hold    *Hold
	permits int
	outer   *heldPermits
}

// waitsForItself reports whether the claim cannot be granted before a hold ends whose end also ends
// the claim's context.
func (l simple) waitsForItself(ctx context.Context) bool {
	needed := l.claim.Permits
	held, _ := ctx.Value(heldKey{l.locks, l.claim.Name}).(*heldPermits)
	for ; held != nil; held = held.outer {
		if held.hold.lease.Context().Err() == nil {
			needed += held.permits
		}
	}
	return needed > l.claim.Limit
}

// holdsMutex reports whether this process holds the mutex of that name.
func (s *Locks) holdsMutex(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.holds {
		if h.Name() == name && h.Valid() {
			return true
		}
	}
	return false
}

// releaseGrace is how long a release is tried after its context has ended.
const releaseGrace = time.Second

// keep makes a hold of a grant. After Close it returns the grant.
func (s *Locks) keep(t attempt, a protocol.LockAnswer, sent steady.Instant) (*Hold, error) {
	c, began := t.claim, time.Now()
	s.mu.Lock()
	if s.life.Err() != nil {
		s.mu.Unlock()
		s.abandon(c)
		return nil, ErrClosed
	}
	l := s.renewer.KeepLock(t.parent, c, a, t.maxHold, sent)
	h := &Hold{lease: l}
	key := heldKey{s, c.Name}
	outer, _ := t.parent.Value(key).(*heldPermits)
	h.ctx = context.WithValue(l.Context(), key, &heldPermits{h, c.Permits, outer})
	s.holds[c.Request] = h
	s.listenLocked() // for the notification of a revoked grant
	s.mu.Unlock()

	forget := func() {
		s.mu.Lock()
		delete(s.holds, c.Request)
		s.mu.Unlock()
	}
	if s.observe != nil {
		granted := Granted{Name: c.Name, Token: a.Token, Waited: began.Sub(t.began)}
		for _, h := range a.Lost {
			granted.TakenOver = append(granted.TakenOver, Place{Holder: h.Holder, Token: h.Token})
		}
		s.observe(granted)
		before := l.Deadline()
		l.OnRenewal(func(deadline time.Time) { // calls never overlap
			s.observe(Renewed{Name: c.Name, Token: a.Token, Remaining: time.Until(before)})
			before = deadline
		})
	}
	// Either this function handles the loss, or h.release the release: always exactly one of them.
	stop := context.AfterFunc(h.ctx, func() {
		lost, ok := errors.AsType[*lease.LostError](context.Cause(h.ctx))
		if !ok {
			return
		}
		forget()
		if s.observe != nil {
			s.observe(Lost{Name: c.Name, Token: a.Token, Held: time.Since(began), Err: lost})
		}
	})
	h.release = func(ctx context.Context) error {
		lost := !stop() && errors.Is(context.Cause(h.ctx), lease.ErrLost)
		forget()
		ctx, cancel := withGrace(ctx, c.TTL)
		defer cancel()
		err := l.Release(ctx)
		if s.observe != nil && !lost {
			s.observe(Released{Name: c.Name, Token: a.Token, Held: time.Since(began), Err: err})
		}
		return err
	}
	return h, nil
}

// withGrace returns a context for a release although ctx may have ended. It lasts for limit, and at
// least a second.
func withGrace(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if ctx.Done() == nil { // it never ends
		return context.WithTimeout(ctx, max(limit, releaseGrace))
	}
	lasts, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(limit, releaseGrace))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(releaseGrace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-lasts.Done():
		}
	})
	return lasts, func() { stop(); cancel() }
}
