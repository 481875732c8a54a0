package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
)

// Lease is a tick, or a lock, that is held. Its renewer renews it until it is settled, released or
// lost. It is safe for concurrent use.
type Lease struct {
	renewer *Renewer
	grant   protocol.Grant      // of a lock, only what Name, Token and TTL say
	lock    *protocol.LockGrant // nil of a tick
	ctx     context.Context
	cancel  context.CancelCauseFunc

	heldUntil steady.Instant // never prolonged beyond this
	startBy   steady.Instant // not renewed after this unless the holder has started; never when that is not asked for

	deadline atomic.Int64 // an instant; the lease is not valid from then on
	attempt  atomic.Int64
	over     atomic.Bool // the renewer has let go of it, or is about to

	// Guarded by renewer.mu.
	index     int // in renewer.leases; -1 once the renewer has let go of it
	renewAt   steady.Instant
	renewing  bool // a renewal is under way
	again     bool // and another is to follow at once: see Check
	ending    bool // Settle or Release is under way: that a renewal is then refused is no loss
	yielding  bool // it has to make room or was cancelled, and is not renewed any more
	note      string
	failures  int // renewals that failed in a row
	last      error
	listeners []*listener // never changed, only replaced
	renewals  int
	least     time.Duration   // that was left to the deadline at one of them
	margins   []time.Duration // that were left at the newest, oldest first: at most maxMargins
}

// listener is called by one goroutine at a time.
type listener struct {
	f func(deadline time.Time)

	// Guarded by renewer.mu.
	notified steady.Instant // the last deadline that it was called with, or the one before the first
	busy     bool           // a call is under way
	stopped  bool
}

// Context ends when the lease is lost, with a [*LostError] as its cause, and when it has to make
// room for a newer tick, with [ErrReplaced]. It ends when somebody has cancelled its tick, with a
// [*CancelledError], and when it is settled or released, with [ErrReleased]. It also ends with the
// context that it was made from. It carries the values of that context.
func (l *Lease) Context() context.Context { return l.ctx }

// Name returns the name that is held.
func (l *Lease) Name() string { return l.grant.Name }

// Tick returns the tick; 0 for a lock.
func (l *Lease) Tick() int64 { return l.grant.Tick }

// Token returns the fencing token: positive, below 2^53, and higher for every later grant of the
// name.
func (l *Lease) Token() int64 { return l.grant.Token }

// Attempt returns the number of the run, from 1; 0 for permits of a lock.
func (l *Lease) Attempt() int { return int(l.attempt.Load()) }

// Valid reports whether the lease is proved held at this instant. Ask right before a write that
// cannot carry the token. It can be valid although its context has ended. That leaves time to end
// the work in good order. It is so when the parent context has ended, or the lease has to make room
// for a newer tick.
func (l *Lease) Valid() bool {
	return !l.over.Load() && steady.Now() < l.end()
}

// Deadline is when the lease stops to be valid unless it is renewed first, by the local clock.
func (l *Lease) Deadline() time.Time {
	return l.end().Time()
}

// Renewals returns how often the lease was renewed so far. It also returns the least time that was
// left to its deadline when a renewal was answered: how near it was to be lost. The margin is above
// 0; 0 while there was no renewal.
func (l *Lease) Renewals() (n int, margin time.Duration) {
	l.renewer.mu.Lock()
	defer l.renewer.mu.Unlock()
	return l.renewals, l.least
}

// maxMargins is how many margins a lease keeps.
const maxMargins = 8

// Margins returns the times that were left to the deadline when the newest renewals were answered,
// oldest first: at most 8, each above 0.
func (l *Lease) Margins() []time.Duration {
	l.renewer.mu.Lock()
	defer l.renewer.mu.Unlock()
	return slices.Clone(l.margins)
}

// OnRenewal calls f with the new deadline after each renewal until stop is called or the lease
// ends. The deadlines rise, and calls never overlap. f runs on the goroutine that received the
// answer, and must not block, nor call Close of the renewer. To miss no deadline, call OnRenewal
// before [Lease.Deadline].
//
// No call begins after stop has returned, but one that is under way may still end after it. stop
// does not wait, so that f may call it.
func (l *Lease) OnRenewal(f func(deadline time.Time)) (stop func()) {
	p := &listener{f: f}
	l.renewer.mu.Lock()
	defer l.renewer.mu.Unlock()
	p.notified = l.end()
	l.listeners = append(slices.Clip(l.listeners), p)
	return func() {
		l.renewer.mu.Lock()
		defer l.renewer.mu.Unlock()
		p.stopped = true
		l.listeners = slices.DeleteFunc(slices.Clone(l.listeners), func(q *listener) bool { return p == q })
	}
}

// notify calls the listeners that do not know the deadline yet. Where another goroutine is calling
// one, that does it.
func (l *Lease) notify() {
	mu := &l.renewer.mu
	mu.Lock()
	defer mu.Unlock()
	for _, p := range l.listeners {
		for !p.busy && !p.stopped && l.index >= 0 && p.notified < l.end() {
			p.busy, p.notified = true, l.end()
			func() {
				deadline := p.notified
				mu.Unlock()
				defer mu.Lock()
				p.f(deadline.Time())
			}()
			p.busy = false
		}
	}
}

// SetAttempt records, now and in the store, that the holder has begun another attempt under the
// same lease. An error means that a takeover may give the same number again. It is [ErrFenced],
// which ends the lease, when the tick was granted to another. It is the cause of the lease's
// context when that has ended the lease before.
func (l *Lease) SetAttempt(ctx context.Context, attempt int) error {
	l.renewer.mu.Lock()
	kept := l.index >= 0
	l.renewer.mu.Unlock()
	if !kept {
		return context.Cause(l.ctx) // asking the store would renew a lease that was let go of
	}
	l.attempt.Store(int64(attempt))
	sent := steady.Now()
	err := l.renewer.ask(ctx, []*Lease{l})[0]
	switch {
	case err == nil:
		l.renewer.renewed(l, sent)
	case errors.Is(err, ErrFenced):
		l.renewer.fenced(l)
	case errors.Is(err, ErrReplaced), errors.Is(err, ErrCancelled):
		l.renewer.yield(l, err)
	}
	return err
}

// AwaitStart has l renewed for one TTL more only, until Started is called: a holder that cannot
// begin its work must not keep it from others. Call it right after [Renewer.Keep].
func (l *Lease) AwaitStart() {
	l.renewer.mu.Lock()
	l.startBy = steady.Now().Add(l.grant.TTL)
	l.renewer.mu.Unlock()
}

// Started has l renewed as long as it is held again: the work that it was granted for has begun.
func (l *Lease) Started() { l.renewer.started(l) }

// SetNote sets what the store keeps beside the outcome when the lease is settled: at most 4 KiB of
// UTF-8. The default is nothing.
func (l *Lease) SetNote(note string) {
	l.renewer.mu.Lock()
	l.note = note
	l.renewer.mu.Unlock()
}

// Check renews the lease soon instead of in its time, for a holder that was notified that the store
// has news about it.
func (l *Lease) Check() { l.renewer.check(l) }

// Settle records the outcome of the tick, finally. It ends the lease's context, then tries until it
// is done, ctx ends, or the store says [ErrFenced]. The error is then that, or the cause of the end
// of ctx with the last error. Meanwhile the store's lease is renewed, and after it has run out
// Settle still succeeds unless the tick was granted to another. An outcome that does not hold 1 to
// 64 of a-z _, or the note expired, is not recorded. A lock has no outcome: it is released. Use a
// context that is not the work's: [context.WithoutCancel].
func (l *Lease) Settle(ctx context.Context, outcome Outcome) error {
	if l.lock != nil {
		return l.Release(ctx)
	}
	if !protocol.ValidOutcome(outcome) {
		l.Abandon()
		return fmt.Errorf("lease: settle %q: outcome %q %s", l.grant.Name, string(outcome), protocol.OutcomeRule)
	}
	if err := l.final().Validate(); err != nil { // no store would ever take it
		l.Abandon()
		return err
	}
	return l.finish(ctx, func(ctx context.Context) error { return l.renewer.store.Settle(ctx, l.final(), outcome) })
}

// Release gives the tick up undecided, so that it can be granted again at once, or gives the lock
// back. It ends the lease's context first and tries again as Settle does.
func (l *Lease) Release(ctx context.Context) error {
	return l.finish(ctx, func(ctx context.Context) error {
		if l.lock != nil {
			return l.renewer.store.ReleaseLock(ctx, *l.lock)
		}
		return l.renewer.store.Release(ctx, l.final())
	})
}

func (l *Lease) finish(ctx context.Context, verb func(context.Context) error) error {
	l.renewer.ending(l)
	defer l.renewer.drop(l, ErrReleased)
	l.cancel(ErrReleased) // first: once the store knows, another can be granted the name before we know
	var last error
	for try := 0; ; try++ {
		// A try of its own limit: one that hangs would hold the lease for ever, since it is renewed
		// meanwhile.
		limit := newLimited(ctx, time.Second<<min(try, 5))
		if try > 0 { // a first one hangs for a second at most
			l.renewer.trying(limit, true)
		}
		err := verb(limit)
		if try > 0 {
			l.renewer.trying(limit, false)
		}
		limit.stop()
		switch {
		case err == nil || errors.Is(err, ErrFenced):
			return err
		case last == nil || ctx.Err() == nil:
			last = err // a try that the end of ctx cut short says less than the one before
		}
		if !sleep.For(ctx, sleep.Backoff(try, 25*time.Millisecond, 200*time.Millisecond)) {
			if cause := context.Cause(ctx); !errors.Is(last, cause) {
				last = fmt.Errorf("%w: %w", cause, last)
			}
			return last
		}
	}
}

// Abandon ends the lease without asking the store: it runs out by itself.
func (l *Lease) Abandon() { l.renewer.drop(l, ErrReleased) }

func (l *Lease) current() protocol.Grant {
	g := l.grant
	g.Attempt = l.Attempt()
	return g
}

// final is the grant with the note that is kept beside the outcome.
func (l *Lease) final() protocol.Grant {
	g := l.current()
	l.renewer.mu.Lock()
	g.Note = l.note
	l.renewer.mu.Unlock()
	return g
}

// end is when the lease ends unless it is renewed first.
func (l *Lease) end() steady.Instant { return steady.Instant(l.deadline.Load()) }

// due is when the renewer has to do something about l.
func (l *Lease) due() steady.Instant {
	if l.renewing || l.yielding || l.renewAt > l.startBy {
		return l.end()
	}
	return min(l.renewAt, l.end())
}

func (l *Lease) lostLocked(reason string) *LostError {
	return &LostError{Name: l.grant.Name, Tick: l.grant.Tick, Token: l.grant.Token, Reason: reason, LastErr: l.last}
}
