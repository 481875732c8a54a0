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

// Lease is a tick, or a lock, that is held. Its [Renewer] renews it until it is settled, released or
// lost. It is safe for concurrent use.
type Lease struct {
	renewer *Renewer
	grant   protocol.Grant      // of a lock, only what Name, Token and TTL say
	lock    *protocol.LockGrant // nil of a tick
	ctx     context.Context
	cancel  context.CancelCauseFunc

	heldUntil steady.Instant // never prolonged beyond this
	within    steady.Instant // nor beyond this, which may grow; never before a call of Within
	proved    steady.Instant // the deadline but for within
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
	points    *points     // nil before the first checkpoint
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

// Context returns a context that ends when the lease does. Its cause is a [*LostError] if the lease
// was lost, [ErrReplaced] if it must make room for a newer tick, a [*CancelledError] if somebody
// cancelled its tick, and [ErrReleased] after Settle, Release or Abandon. It is a child of the
// context that the lease was made from.
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
// cannot carry the token. A lease may be valid although its context has ended, because the parent
// context has, or because it must make room for a newer tick: that leaves time to end the work in
// good order.
func (l *Lease) Valid() bool {
	return !l.over.Load() && steady.Now() < l.end()
}

// Deadline returns when the lease stops being valid unless it is renewed first, by the local clock.
func (l *Lease) Deadline() time.Time {
	return l.end().Time()
}

// Renewals returns how often the lease was renewed, and the least time that was left to its
// deadline at a renewal, which is above 0. The margin is 0 before the first renewal.
func (l *Lease) Renewals() (n int, margin time.Duration) {
	l.renewer.mu.Lock()
	defer l.renewer.mu.Unlock()
	return l.renewals, l.least
}

// maxMargins is how many margins a lease keeps.
const maxMargins = 8

// Margins returns the times that were left to the deadline at the newest renewals, oldest first: at
// most 8, each above 0.
func (l *Lease) Margins() []time.Duration {
	l.renewer.mu.Lock()
	defer l.renewer.mu.Unlock()
	return slices.Clone(l.margins)
}

// OnRenewal calls f with the new deadline after each renewal, until stop is called or the lease
// ends. The deadlines rise, and calls never overlap. f runs on the goroutine that received the
// answer; it must not block, nor call Close of the renewer. To miss no deadline, call OnRenewal
// before [Lease.Deadline].
//
// No call begins after stop has returned, but one that is under way may end later. f may call stop.
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

// notify calls the listeners that do not know the deadline yet. If another goroutine is calling a
// listener, that goroutine calls it again.
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
// same lease. If it fails, a takeover may give the same number again. The error is [ErrFenced] if
// the tick was granted to another, which ends the lease, and the cause of the lease's context if
// that has ended before.
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

// AwaitStart limits the renewals to one more TTL until [Lease.Started] is called, so that a holder
// that cannot begin its work does not keep it from others. Call it right after [Renewer.Keep].
func (l *Lease) AwaitStart() {
	l.renewer.mu.Lock()
	l.startBy = steady.Now().Add(l.grant.TTL)
	l.renewer.mu.Unlock()
}

// Started lifts the limit of [Lease.AwaitStart]: the work has begun.
func (l *Lease) Started() { l.renewer.started(l) }

// Within keeps the lease from being valid after a deadline that something else has, such as the lease
// of a permit to do the work at all. Each call may move that on, and none moves it back. Call it
// right after [Renewer.Keep] for the first time.
func (l *Lease) Within(deadline time.Time) { l.renewer.within(l, steady.Of(deadline)) }

// SetNote sets the note that the store keeps beside the outcome when the lease is settled: at most
// 4 KiB of UTF-8. The default is none.
func (l *Lease) SetNote(note string) {
	l.renewer.mu.Lock()
	l.note = note
	l.renewer.mu.Unlock()
}

// Check renews the lease soon, not only when a renewal is due. Call it when the store may have news
// about the lease.
func (l *Lease) Check() { l.renewer.check(l) }

// Settle records the outcome of the tick, which is final. It first ends the lease's context, and
// then tries until the store has answered or ctx ends. It succeeds even if the lease has run out
// meanwhile, unless the tick was granted to another: then the error is [ErrFenced]. If ctx ends,
// the error wraps its cause and the last failure. An outcome that is not 1 to 64 of a-z _, or an
// invalid note, is not recorded. A lock has no outcome: it is released. Do not pass the context of
// the work, but for example [context.WithoutCancel] of it.
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
	if outcome != OutcomeSucceeded {
		l.writeLast(ctx)
	}
	err := l.finish(ctx, func(ctx context.Context) error { return l.renewer.store.Settle(ctx, l.final(), outcome) })
	if err == nil && outcome == OutcomeSucceeded {
		l.clear()
	}
	return err
}

// Release gives up the tick undecided, so that it can be granted again at once, or releases the
// lock. It ends the lease's context first, and tries like Settle.
func (l *Lease) Release(ctx context.Context) error {
	l.writeLast(ctx)
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

// Abandon ends the lease without telling the store, where it runs out.
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
