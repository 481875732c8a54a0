// Package limit limits how often a whole fleet does something: calls to an interface of somebody
// else, mails, logins. It counts in the store, by the store's clock, so that replicas whose clocks
// differ share one limit.
//
//	limits := limit.New(store)
//	calls := limits.Bucket("partner", 100, time.Minute) // 100 at once, and then one each 600 ms
//	codes := limits.Window("codes."+user, 5, time.Hour) // at most 5 in any hour
//
//	d, err := codes.Allow(ctx)
//	if err != nil { ... }         // the store does not answer: nothing is allowed
//	if !d.Allowed { ... d.Wait }  // for that long
//	err = calls.Wait(ctx)         // returns when it may go on
//
// Requests of several goroutines of a process for one name at one time travel as one change. So a
// limit costs a process one round trip at a time, however many ask.
//
// # Faults
//
//   - A store that does not answer, or is out of memory, is an error: see [WithFailOpen].
//   - A request whose reply was lost is sent again, up to three times within 10 s, and takes its
//     units once, whatever others take meanwhile. After that it is unknown whether they were taken:
//     calling again may take them twice. More than the limit is never allowed.
//   - When many processes want one name, they are in each other's way on stores other than Redis, and
//     each tries until the context ends. That is no error.
//   - A store that has lost its memory, or went back to a snapshot, gets back what a process that
//     asks knows. What none knows is free to be taken again.
//   - When the store's clock is set back, all of a bucket counts as used, and a window lasts up to
//     twice as long, once.
package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
)

// Limits makes the limits of one store. It is safe for concurrent use, and need not be closed.
type Limits struct {
	store lease.Store // nil when fault is not
	fault error
}

// New returns a maker of limits in store. It does not call the store. Faults of the arguments are
// returned by the calls of its limiters.
func New(store lease.Store) *Limits {
	l := new(Limits)
	if protocol.IsNil(store) {
		l.fault = errors.New("limit: store: nil must be a store")
	} else {
		l.store = store
	}
	return l
}

// Option changes a default of a limiter.
type Option func(*Limiter)

// WithBurst sets how many units of a bucket can be taken at once after a rest. It is from 1 to
// 1,000,000,000, and at most what comes in 365 days. The default is count.
func WithBurst(n int) Option { return func(l *Limiter) { l.limit.Burst, l.burst = n, true } }

// WithFailOpen allows what the store does not answer, not what waits for others, and says so in [Decision].Unchecked: for a
// limit that had better be exceeded than stop what it limits.
func WithFailOpen() Option { return func(l *Limiter) { l.open = true } }

// Bucket is a limit of count units per time on average: it fills evenly, up to count units or
// [WithBurst]. After a rest so many can be taken at once, and then one each per / count. count is
// from 1 to 1,000,000,000, per from 1 ms to 365 days.
//
// The name is the limit's in the whole fleet, and matches [A-Za-z0-9][A-Za-z0-9._-]{0,127};
// lock.Name makes one of any strings. All who use it give the same limit: each decides by its own.
func (l *Limits) Bucket(name string, count int, per time.Duration, options ...Option) *Limiter {
	return l.named(name, protocol.Limit{Count: count, Per: per, Burst: count}, options)
}

// Window is a limit of at most count units in any time of that length, in the ranges of
// [Limits.Bucket]. A unit comes back when the time has passed since it was taken, and up to a
// 64th of it and some milliseconds more.
func (l *Limits) Window(name string, count int, per time.Duration, options ...Option) *Limiter {
	return l.named(name, protocol.Limit{Window: true, Count: count, Per: per}, options)
}

func (l *Limits) named(name string, limit protocol.Limit, options []Option) *Limiter {
	r := &Limiter{store: l.store, name: name, limit: limit, fault: l.fault}
	for i, o := range options {
		if o == nil {
			r.fault = errors.Join(r.fault, fmt.Errorf("limit: options[%d]: nil must be an option", i))
			continue
		}
		o(r)
	}
	if limit.Window && r.burst {
		r.fault = errors.Join(r.fault, errors.New("limit: burst: must be left out of a window"))
	}
	if r.fault == nil {
		r.fault = protocol.Take{Name: name, Limit: r.limit, Units: 1}.Validate()
	}
	return r
}

// Limiter is the limit of a name. It holds nothing, so it can be made for each use. It is safe for
// concurrent use.
type Limiter struct {
	store lease.Store
	name  string
	limit protocol.Limit
	burst bool // it was given
	open  bool
	fault error
}

// Decision is the answer to a request. The zero Decision allows nothing.
type Decision struct {
	Allowed   bool
	Remaining int           // units that could be taken right after, if nobody else took any
	Wait      time.Duration // when it is not allowed: until it would be, if nobody else took any
	Unchecked error         // of a limiter that fails open: why the store did not answer; then the rest is unknown
}

// Allow asks for one unit, and takes it if there is one.
func (l *Limiter) Allow(ctx context.Context) (Decision, error) { return l.take(ctx, 1, false) }

// AllowN asks for n units, and takes all of them or none. n is from 1 to what can be had at once.
func (l *Limiter) AllowN(ctx context.Context, n int) (Decision, error) { return l.take(ctx, n, false) }

// Wait waits for one unit and takes it.
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN waits until n units can be taken at once, and takes them. It returns an error when ctx
// ends, at once when its deadline is before the units come, and when the store does not answer.
// Nothing is reserved. Callers that wait are served about in the order in which they came, but many
// who ask for few can keep one from getting many.
func (l *Limiter) WaitN(ctx context.Context, n int) error {
	for {
		d, err := l.take(ctx, n, true)
		if err != nil || d.Allowed {
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d.Wait {
			return fmt.Errorf("limit %q: there is no room for %s: %w", l.name, d.Wait.Round(time.Millisecond), context.DeadlineExceeded)
		}
		t := time.NewTimer(d.Wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("limit %q: %w", l.name, context.Cause(ctx))
		}
	}
}

func (l *Limiter) take(ctx context.Context, n int, waits bool) (Decision, error) {
	t := protocol.Take{Name: l.name, Limit: l.limit, Units: n, Waits: waits}
	if l.fault != nil {
		return Decision{}, l.fault
	}
	if err := t.Validate(); err != nil {
		return Decision{}, err
	}
	taken, err := l.store.Take(ctx, t)
	switch {
	case err == nil:
		return Decision{Allowed: taken.OK, Remaining: taken.Remaining, Wait: taken.Wait}, nil
	case ctx.Err() != nil:
		return Decision{}, fmt.Errorf("limit %q: %w", l.name, context.Cause(ctx))
	case l.open:
		return Decision{Allowed: true, Unchecked: err}, nil
	}
	return Decision{}, fmt.Errorf("limit %q: %w", l.name, err)
}
