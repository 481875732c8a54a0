package lock

import (
	"context"
	"sync"

	"github.com/solotick/solotick/lease"
)

// Reentrant is a mutex that its holder can acquire again, with the context of the hold or one
// derived from it. All such holds are one lease with one token. This process counts them, without
// round trips, and releases the lock with the last of them. Until then their contexts continue,
// unless the lock is lost. Goroutines that share such a context share the lock. It is safe for
// concurrent use.
type Reentrant struct {
	mutex *Mutex
	key   contextKey
}

// Reentrant returns the re-entrant mutex of that name. Acquire returns the faults of the name and
// the options.
func (s *Locks) Reentrant(name string, opts ...Option) *Reentrant {
	return &Reentrant{s.Mutex(name, opts...), contextKey{s, name}}
}

// contextKey is the context key of the ownership of one re-entrant lock.
type contextKey struct {
	locks *Locks
	name  string
}

// ownership is the state that the holds of one lease share. Contexts carry it.
type ownership struct {
	outer *Hold

	mu       sync.Mutex
	count    int                  // of unreleased holds; 0 when the lock is released
	outerIn  bool                 // the first hold is not released
	detached []context.CancelFunc // for contexts of released inner holds, which other holds may derive from
}

// Name implements [Lock].
func (l *Reentrant) Name() string { return l.mutex.Name() }

// Acquire implements [Lock]. With a context of a hold it returns at once. The error is then
// [ErrOver] when that hold was released, or the cause of its loss.
func (l *Reentrant) Acquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.mutex.Acquire)
}

// TryAcquire implements [Lock].
func (l *Reentrant) TryAcquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.mutex.TryAcquire)
}

func (l *Reentrant) acquire(ctx context.Context, acquire func(context.Context) (*Hold, error)) (*Hold, error) {
	if o, ok := ctx.Value(l.key).(*ownership); ok {
		return o.enter(ctx)
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	o := &ownership{outer: h, count: 1, outerIn: true}
	return &Hold{
		lease: h.lease, ctx: context.WithValue(h.ctx, l.key, o),
		release: func(ctx context.Context) error { return o.leave(ctx, true, nil) },
	}, nil
}

// enter makes an inner hold.
func (o *ownership) enter(ctx context.Context) (*Hold, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.count == 0:
		return nil, ErrOver
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !o.outer.Valid():
		if cause := context.Cause(o.outer.ctx); cause != nil {
			return nil, cause
		}
		return nil, lease.ErrLost // its context is about to end
	}
	o.count++
	h := &Hold{lease: o.outer.lease, ctx: ctx}
	var detach context.CancelFunc
	if ctx.Done() != o.outer.ctx.Done() { // even a context.WithoutCancel must end with the lock
		inner, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(o.outer.ctx, func() { cancel(context.Cause(o.outer.ctx)) })
		h.ctx, detach = inner, func() { stop(); cancel(lease.ErrReleased) }
	}
	h.release = func(ctx context.Context) error { return o.leave(ctx, false, detach) }
	return h, nil
}

// leave releases the lock with the last hold. The contexts of inner holds end when only the first
// hold is left, because its context does not derive from them.
func (o *ownership) leave(ctx context.Context, outer bool, detach context.CancelFunc) error {
	o.mu.Lock()
	o.count--
	o.outerIn = o.outerIn && !outer
	if detach != nil {
		o.detached = append(o.detached, detach)
	}
	last := o.count == 0
	var over []context.CancelFunc
	if last || o.count == 1 && o.outerIn {
		over, o.detached = o.detached, nil
	}
	o.mu.Unlock()
	for _, f := range over {
		f()
	}
	if !last {
		return nil
	}
	return o.outer.Release(ctx)
}
