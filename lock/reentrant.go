package lock

import (
	"context"
	"sync"

	"github.com/solotick/solotick/lease"
)

// Reentrant is a mutex that whoever holds it can acquire again: with the context of the hold, or one made from it. All such
// holds are one lease with one token, are counted in this process, and cost no round trip. The lock is given back when as many
// have been released. Goroutines that share such a context share the lock. It is safe for concurrent use.
type Reentrant struct {
	mutex *Mutex
	key   contextKey
}

// Reentrant returns the re-entrant mutex of that name. What is wrong with the name or the options Acquire says.
func (s *Locks) Reentrant(name string, opts ...Option) *Reentrant {
	return &Reentrant{s.Mutex(name, opts...), contextKey{s, name}}
}

// ownership is what the holds of one lease share. Contexts carry it.
type ownership struct {
	outer *Hold
	mu    sync.Mutex
	count int // 0: it is over
}

// Name implements [Lock].
func (l *Reentrant) Name() string { return l.mutex.Name() }

// Acquire implements [Lock]. With a context from inside a hold it returns at once; the error is then [ErrOver] when that hold has
// been released, or why it was lost.
func (l *Reentrant) Acquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.mutex.Acquire)
}

// TryAcquire implements [Lock].
func (l *Reentrant) TryAcquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, l.mutex.TryAcquire)
}

func (l *Reentrant) acquire(ctx context.Context, acquire func(context.Context) (*Hold, error)) (*Hold, error) {
	if o := l.key.of(ctx); o != nil {
		return o.enter(ctx)
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	o := &ownership{outer: h, count: 1}
	return o.hold(context.WithValue(h.ctx, l.key, o)), nil
}

// enter makes another hold.
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
	return o.hold(ctx), nil
}

func (o *ownership) hold(ctx context.Context) *Hold {
	return &Hold{lease: o.outer.lease, ctx: ctx, give: o.leave}
}

// leave gives the lock back when nobody is inside any more.
func (o *ownership) leave(ctx context.Context) error {
	o.mu.Lock()
	o.count--
	last := o.count == 0
	o.mu.Unlock()
	if !last {
		return nil
	}
	return o.outer.Release(ctx)
}
