package lock

import (
	"context"
	"sync"

	"github.com/solotick/solotick/lease"
)

// Reentrant is a mutex that its holder can acquire again, with the context of the hold or one
// derived from it. All such holds are one lease with one token. This process counts them, without
// round trips, and releases the lock with the last of them. The context of a hold continues until
// it and all holds made from it are released, unless the lock is lost. Goroutines that share such a
// context share the lock. It is safe for concurrent use.
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

// ownership is the state that the holds of one lease share.
type ownership struct {
	outer *Hold
	mu    sync.Mutex // guards the scopes
}

// scope is what a context of a hold carries. It is of use to the holds that were made from it.
type scope struct {
	*ownership
	outside *scope             // nil of the first hold
	holds   int                // that are not released, of this scope, and scopes right inside it with any; 0 when it has ended
	end     context.CancelFunc // of its context; nil of the first hold
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
	if o, ok := ctx.Value(l.key).(*scope); ok {
		return o.enter(ctx, l.key)
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	o := &scope{ownership: &ownership{outer: h}, holds: 1}
	return &Hold{lease: h.lease, ctx: context.WithValue(h.ctx, l.key, o), release: o.leave}, nil
}

// enter makes an inner hold.
func (o *scope) enter(ctx context.Context, key contextKey) (*Hold, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.holds == 0 && o.outside != nil { // its hold is released, and the lock may be held further out
		o = o.outside
	}
	switch {
	case o.holds == 0:
		return nil, ErrOver
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !o.outer.Valid():
		if cause := context.Cause(o.outer.ctx); cause != nil {
			return nil, cause
		}
		return nil, lease.ErrLost // its context is about to end
	}
	o.holds++
	if ctx.Done() == o.outer.ctx.Done() {
		return &Hold{lease: o.outer.lease, ctx: ctx, release: o.leave}, nil
	}
	inner, cancel := context.WithCancelCause(ctx) // even a context.WithoutCancel must end with the lock
	stop := context.AfterFunc(o.outer.ctx, func() { cancel(context.Cause(o.outer.ctx)) })
	in := &scope{ownership: o.ownership, outside: o, holds: 1, end: func() { stop(); cancel(lease.ErrReleased) }}
	return &Hold{lease: o.outer.lease, ctx: context.WithValue(inner, key, in), release: in.leave}, nil
}

// leave releases a hold of the scope, and the lock with the last of all. A context ends with the
// last hold that was made from it.
func (o *scope) leave(ctx context.Context) error {
	o.mu.Lock()
	var over []context.CancelFunc
	for o.holds--; o.holds == 0 && o.outside != nil; o.holds-- {
		over = append(over, o.end)
		o = o.outside
	}
	last := o.holds == 0
	o.mu.Unlock()
	for _, end := range over {
		end()
	}
	if !last {
		return nil
	}
	return o.outer.Release(ctx)
}
