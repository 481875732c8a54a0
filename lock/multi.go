package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/lease"
)

// Multi is several locks of any kind and name that are held together or not at all. Callers need
// not agree on an order. It is safe for concurrent use.
//
// Acquire takes the locks in the order of their names, so that callers never wait for each other in
// a ring. It waits for each of them once, in the order of arrival, and keeps those before it
// meanwhile. Who waits for one of them in any order lets it go first. So when holders die, it waits
// for at most the TTL and a second for each name, and as long again for each caller in the order of
// arrival that came before it.
type Multi struct {
	locks []Lock
	index []int // of each lock that was given, in locks
}

// Multi returns the lock of all these locks. The shortest of their wait timeouts limits how long
// Acquire waits for all of them. Keys of one [Striped] that share a stripe share a hold.
func (s *Locks) Multi(locks ...Lock) *Multi {
	m := &Multi{}
	stripes := make(map[*Mutex]int)
	for _, l := range locks {
		stripe, ok := l.(*Mutex)
		ok = ok && stripe != nil && stripe.stripe
		if i, shared := stripes[stripe]; ok && shared {
			m.index = append(m.index, i)
			continue
		}
		if ok {
			stripes[stripe] = len(m.locks)
		}
		m.index = append(m.index, len(m.locks))
		if l, ok := l.(partial); ok && !protocol.IsNil(l) {
			m.locks = append(m.locks, l.byArrival())
			continue
		}
		m.locks = append(m.locks, l)
	}
	return m
}

// partial is a lock whose order and wait timeout a [Multi] can change. Other locks use only their
// own.
type partial interface {
	Lock
	byArrival() partial                    // the same lock, granted in the order of arrival
	waitLimit() time.Duration              // 0 for none
	withWaitLimit(d time.Duration) partial // the same lock with another timeout
}

// MultiHold holds all locks of a [Multi]. Always release it, also after a loss. It is safe for
// concurrent use.
type MultiHold struct {
	holds  []*Hold // in the order of the locks
	ctx    context.Context
	cancel context.CancelCauseFunc
	stops  []func() bool // of the functions that wait for the contexts of holds
	once   sync.Once
	err    error
}

// Context returns a context that ends when the first of the locks is lost or released, with the
// same cause.
func (h *MultiHold) Context() context.Context { return h.ctx }

// Holds returns the hold of each lock, in their order, with their tokens. Release them together.
func (h *MultiHold) Holds() []*Hold { return slices.Clone(h.holds) }

// Valid reports whether all locks are proved held at this instant.
func (h *MultiHold) Valid() bool {
	return !slices.ContainsFunc(h.holds, func(h *Hold) bool { return !h.Valid() })
}

// Release releases all locks, as [Hold.Release] does. It joins their errors.
func (h *MultiHold) Release(ctx context.Context) error {
	h.once.Do(func() {
		h.cancel(lease.ErrReleased) // before others can be granted one of them
		for _, stop := range h.stops {
			stop()
		}
		h.err = releaseAll(ctx, h.holds)
	})
	return h.err
}

func (l *Multi) check() error {
	if len(l.locks) == 0 {
		return protocol.Permanent(errors.New("lock: several at once: there must be at least one"))
	}
	seen := make(map[string]bool)
	for i, m := range l.locks {
		if protocol.IsNil(m) {
			return protocol.Permanent(fmt.Errorf("lock: several at once: locks[%d]: nil must be a lock", slices.Index(l.index, i)))
		}
		if seen[m.Name()] {
			return protocol.Permanent(fmt.Errorf("lock: several at once: %q is there twice and would wait for itself", m.Name()))
		}
		seen[m.Name()] = true
	}
	return nil
}

// TryAcquire claims all locks at the same time, and releases those that it got unless it got all.
// The error is that of the first lock that was not granted: see [Lock].
func (l *Multi) TryAcquire(ctx context.Context) (*MultiHold, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	holds := make([]*Hold, len(l.locks))
	if err := cmp.Or(l.tryOthers(ctx, holds)...); err != nil {
		_ = releaseAll(ctx, holds)
		return nil, err
	}
	return l.held(ctx, holds), nil
}

// Acquire waits until all locks are granted. The error is that of the lock which was not granted:
// see [Lock].
func (l *Multi) Acquire(ctx context.Context) (*MultiHold, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	w := multiWait{Multi: l, ctx: ctx, began: time.Now(), limit: l.waitLimit()}
	for tries := 0; ; tries++ {
		take := w.inOrder
		if tries%2 == 1 {
			take = w.longestFirst
		}
		holds, err := take()
		switch {
		case err != nil:
			return nil, err
		case holds != nil:
			return l.held(ctx, holds), nil
		}
		sleep.For(ctx, sleep.Scatter(tries, time.Millisecond, 64*time.Millisecond))
	}
}

// tryOthers claims the locks that are not held yet, all at the same time, and returns the error of
// each.
func (l *Multi) tryOthers(ctx context.Context, holds []*Hold) []error {
	errs := make([]error, len(l.locks))
	var asking sync.WaitGroup
	for i, m := range l.locks {
		if holds[i] == nil {
			asking.Go(func() { holds[i], errs[i] = m.TryAcquire(ctx) })
		}
	}
	asking.Wait()
	return errs
}

func (l *Multi) held(ctx context.Context, holds []*Hold) *MultiHold {
	h := &MultiHold{holds: make([]*Hold, len(l.index))}
	for i, n := range l.index {
		h.holds[i] = holds[n]
	}
	h.ctx, h.cancel = context.WithCancelCause(holdsContext{ctx, holds})
	for _, one := range holds {
		h.stops = append(h.stops, context.AfterFunc(one.ctx, func() { h.cancel(context.Cause(one.ctx)) }))
	}
	return h
}

// holdsContext carries the ownership of re-entrant holds.
type holdsContext struct {
	context.Context
	holds []*Hold
}

// Value implements [context.Context].
func (c holdsContext) Value(key any) any {
	switch key.(type) {
	case contextKey, heldKey:
		for _, h := range c.holds {
			if v := h.ctx.Value(key); v != nil {
				return v
			}
		}
	}
	return c.Context.Value(key)
}

// releaseAll releases holds; those that are nil were not granted.
func releaseAll(ctx context.Context, holds []*Hold) error {
	errs := make([]error, len(holds))
	var giving sync.WaitGroup
	for i, h := range holds {
		if h != nil {
			giving.Go(func() { errs[i] = h.Release(ctx) })
		}
	}
	giving.Wait()
	return errors.Join(errs...)
}
