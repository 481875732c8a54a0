package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/protocol"
)

// Hold is a lock that is held, until it is released or lost. Always release it, also when it was lost. It is safe for
// concurrent use.
type Hold struct {
	lease *lease.Lease
	ctx   context.Context
	once  sync.Once
	err   error // of the release
	give  func(context.Context) error
}

// Context ends when the lock is lost or released: see [lease.Lease.Context]. It ends as well with the context that the lock
// was acquired with, though the lock is then still held: release it.
func (h *Hold) Context() context.Context { return h.ctx }

// Name returns the name of the lock.
func (h *Hold) Name() string { return h.lease.Name() }

// Token returns the fencing token: higher for every later grant of the name.
func (h *Hold) Token() int64 { return h.lease.Token() }

// Valid reports whether the lock is proved held at this instant: see [lease.Lease.Valid].
func (h *Hold) Valid() bool { return h.lease.Valid() }

// Deadline is when the hold stops to be valid unless it is renewed first, by the local clock.
func (h *Hold) Deadline() time.Time { return h.lease.Deadline() }

// OnRenewal calls f after each renewal: see [lease.Lease.OnRenewal].
func (h *Hold) OnRenewal(f func(deadline time.Time)) (stop func()) { return h.lease.OnRenewal(f) }

// Release gives the lock back, and tells whoever is next. It can be called with a context that has ended: it then tries for
// another second. Later calls return what the first one did. The error matches [protocol.ErrFenced] when the lock was not
// held any more.
func (h *Hold) Release(ctx context.Context) error {
	h.once.Do(func() { h.err = h.give(ctx) })
	return h.err
}

// lastSecond is how long a release is tried when its context has ended.
const lastSecond = time.Second

// keep makes the hold of what was granted; after Close it gives that back.
func (s *Locks) keep(t attempt, a protocol.LockAnswer, sent lease.Moment) (*Hold, error) {
	c, began := t.claim, time.Now()
	s.mu.Lock()
	if s.life.Err() != nil {
		s.mu.Unlock()
		s.takeBack(c)
		return nil, ErrClosed
	}
	l := s.keeper.KeepLock(t.parent, c, a, t.most, sent)
	h := &Hold{lease: l, ctx: l.Context()}
	s.holds[c.Request] = h
	s.listenLocked() // to hear of it when it is taken away
	s.mu.Unlock()

	forget := func() {
		s.mu.Lock()
		delete(s.holds, c.Request)
		s.mu.Unlock()
	}
	if s.observe != nil {
		s.observe(Granted{Name: c.Name, Token: a.Token, Waited: began.Sub(t.began), TakenOver: a.Lost})
		before := l.Deadline()
		l.OnRenewal(func(deadline time.Time) { // calls never overlap
			s.observe(Renewed{Name: c.Name, Token: a.Token, Left: time.Until(before)})
			before = deadline
		})
	}
	// Either this notices the loss, or give the release: never both, nor neither.
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
	h.give = func(ctx context.Context) error {
		lost := !stop() && errors.Is(context.Cause(h.ctx), lease.ErrLost)
		forget()
		ctx, cancel := lasting(ctx, c.Term)
		defer cancel()
		err := l.Release(ctx)
		if s.observe != nil && !lost {
			s.observe(Released{Name: c.Name, Token: a.Token, Held: time.Since(began), Err: err})
		}
		return err
	}
	return h, nil
}

// lasting returns a context for what has to be done although ctx may have ended, within a limit that is at least a second.
func lasting(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	lasts, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(limit, lastSecond))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(lastSecond)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-lasts.Done():
		}
	})
	return lasts, func() { stop(); cancel() }
}
