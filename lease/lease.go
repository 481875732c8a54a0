package lease

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// Lease is an occasion, or a plain lock, that is held. Its keeper renews it until it is settled, released or lost. It is
// safe for concurrent use.
type Lease struct {
	keeper *Keeper
	grant  Grant
	ctx    context.Context
	cancel context.CancelCauseFunc

	deadline atomic.Int64 // an instant; the lease is not valid from then on
	attempt  atomic.Int64

	// Guarded by keeper.mu.
	index     int // in keeper.leases; -1 once the keeper has let go of it
	renewAt   instant
	renewing  bool // a renewal is under way
	ending    bool // Settle or Release is under way: what a renewal says of the grant proves nothing
	failures  int  // renewals that failed in a row
	last      error
	listeners []*func(time.Time)
}

// Context ends when the lease is lost, with a [*LostError] as its cause; when it is settled or released, with
// [ErrReleased]; and when the context that it was made from ends. It carries the values of that context.
func (l *Lease) Context() context.Context { return l.ctx }

// Name returns the name that is held.
func (l *Lease) Name() string { return l.grant.Name }

// Occasion returns the occasion; 0 for a plain lock.
func (l *Lease) Occasion() int64 { return l.grant.Occasion }

// Token returns the fencing token: positive, below 2^53, and higher for every later grant of the name.
func (l *Lease) Token() int64 { return l.grant.Token }

// Attempt returns the number of the run, from 1.
func (l *Lease) Attempt() int { return int(l.attempt.Load()) }

// Valid reports whether the lease is proved held at this instant. Ask right before a write that cannot carry the token.
func (l *Lease) Valid() bool {
	return l.ctx.Err() == nil && now() < instant(l.deadline.Load())
}

// Deadline is when the lease stops to be valid unless it is renewed first, by the local clock.
func (l *Lease) Deadline() time.Time {
	return instant(l.deadline.Load()).time()
}

// OnRenewal calls f with the new deadline after each renewal until stop is called. f runs on the goroutine that received the answer,
// and must not block.
func (l *Lease) OnRenewal(f func(deadline time.Time)) (stop func()) {
	p := &f
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	l.listeners = append(slices.Clip(l.listeners), p)
	return func() {
		l.keeper.mu.Lock()
		defer l.keeper.mu.Unlock()
		l.listeners = slices.DeleteFunc(slices.Clone(l.listeners), func(q *func(time.Time)) bool { return p == q })
	}
}

// SetAttempt records, now and in the store, that the holder has begun another attempt under the same lease. An error
// means that a takeover may give the same number again.
func (l *Lease) SetAttempt(ctx context.Context, attempt int) error {
	l.attempt.Store(int64(attempt))
	sent := now()
	g := l.current()
	err := l.keeper.store.Renew(ctx, []Grant{g})[0]
	if err == nil {
		l.keeper.renewed(l, sent)
	}
	return err
}

// Settle records the outcome of the occasion, finally, and ends the lease. It tries again until it is done, ctx ends, or
// the store says [ErrFenced]. Meanwhile the lease is renewed, and after it has run out Settle still succeeds unless the
// occasion was granted to another. Use a context that is not the work's: [context.WithoutCancel].
func (l *Lease) Settle(ctx context.Context, outcome Outcome) error {
	return l.end(ctx, func(g Grant) error { return l.keeper.store.Settle(ctx, g, outcome) })
}

// Release gives the occasion up undecided, so that it can be granted again at once, or unlocks a plain lock, and ends the
// lease. It tries again as Settle does.
func (l *Lease) Release(ctx context.Context) error {
	return l.end(ctx, func(g Grant) error { return l.keeper.store.Release(ctx, g) })
}

func (l *Lease) end(ctx context.Context, verb func(Grant) error) error {
	l.keeper.ending(l)
	defer l.keeper.drop(l, ErrReleased)
	for try := 0; ; try++ {
		err := verb(l.current())
		if err == nil || errors.Is(err, ErrFenced) {
			return err
		}
		if !sleep(ctx, retryDelay(try, 200*time.Millisecond)) {
			return err
		}
	}
}

// Abandon ends the lease without telling the store: it runs out by itself.
func (l *Lease) Abandon() { l.keeper.drop(l, ErrReleased) }

func (l *Lease) current() Grant {
	g := l.grant
	g.Attempt = l.Attempt()
	return g
}

// margin is what the deadline keeps from the lease's end: for clocks that run at different speeds, and for timers and
// work that end late.
func margin(term time.Duration) time.Duration { return min(term/20, time.Second) }

// retryDelay is the wait before another try: doubling from 25 ms up to most, with a random half.
func retryDelay(try int, most time.Duration) time.Duration {
	d := min(25*time.Millisecond<<min(try, 10), most)
	return d/2 + rand.N(d/2+1)
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
