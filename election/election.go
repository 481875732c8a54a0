// Package election lets the members of a fleet elect one of them, which leads until it resigns, dies, or is cut off.
//
//	e := election.New(locks, "primary")
//	leadership, err := e.Campaign(ctx) // waits until this member is elected
//	if err != nil { ... }
//	defer leadership.Resign(ctx)
//	lead(leadership.Context(), leadership.Term()) // the context ends when another may lead
//
// An election is a fair mutex, so that members are elected in the order in which they began to campaign. What is called a term
// elsewhere is its fencing token: it rises with each leadership, and what a leader writes should carry it, since a
// leader that was frozen does not know that it leads no more.
package election

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lock"
)

// ErrNoLeader is returned by [Election.Leader] while nobody leads.
var ErrNoLeader = errors.New("election: nobody leads")

// Election is one that members can campaign in and look at. It is safe for concurrent use.
type Election struct {
	locks *lock.Locks
	mutex *lock.Mutex
}

// New returns the election of that name. A member is known by the holder's name of locks: see [lock.WithHolder].
// [lock.Term] says how long others wait when the leader dies, and [lock.MaxHold] for how long one may lead. What is wrong
// with the name or the options Campaign says.
func New(locks *lock.Locks, name string, opts ...lock.Option) *Election {
	return &Election{locks, locks.Mutex(name, append([]lock.Option{lock.Fair(), lock.Tell()}, opts...)...)}
}

// Campaign waits until this member is elected, ctx ends, or the wait limit passes, and fails at once where waiting does not
// help: see [lock.Lock]. ctx is the parent of the leadership's context.
func (e *Election) Campaign(ctx context.Context) (*Leadership, error) {
	h, err := e.mutex.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	return &Leadership{h}, nil
}

// Leadership is held by the member that was elected, until it resigns or has lost it. It is safe for concurrent use.
type Leadership struct{ hold *lock.Hold }

// Context ends when this member does not lead any more, for the cause that [lock.Hold.Context] describes. Stop the work
// then: another may lead by now.
func (l *Leadership) Context() context.Context { return l.hold.Context() }

// Term returns the fencing token of this leadership: higher than that of all before.
func (l *Leadership) Term() int64 { return l.hold.Token() }

// Valid reports whether this member is proved to lead at this instant.
func (l *Leadership) Valid() bool { return l.hold.Valid() }

// Resign gives the leadership up, so that the next is elected at once. Always resign, also when it was lost. See
// [lock.Hold.Release].
func (l *Leadership) Resign(ctx context.Context) error { return l.hold.Release(ctx) }

// Leader is who leads.
type Leader struct {
	Member string // the holder's name
	Term   int64
	Since  time.Time     // by the store's clock
	Left   time.Duration // of the lease, unless it is renewed
}

// Leader returns who leads; the error is [ErrNoLeader] while nobody does.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	v, err := e.locks.Inspect(ctx, e.mutex.Name())
	if err != nil {
		return Leader{}, fmt.Errorf("election: %w", err)
	}
	return leader(v)
}

func leader(v protocol.Lock) (Leader, error) {
	for _, h := range v.Holds {
		if h.Left > 0 {
			return Leader{Member: h.Holder, Term: h.Token, Since: h.Since, Left: h.Left}, nil
		}
	}
	return Leader{}, ErrNoLeader
}

// Observe yields who leads, at once and whenever that has changed, until ctx ends. The error is [ErrNoLeader] while nobody
// does, or what the store fails with: see [lock.Locks.Watch].
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		for v, err := range e.locks.Watch(ctx, e.mutex.Name()) {
			var l Leader
			if err == nil {
				l, err = leader(v)
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// Lead campaigns, and calls lead whenever this member is elected, until lead returns while the leadership is valid, or ctx
// ends. It returns what lead did, or the cause of ctx. lead must return when its context ends: only then does this member
// campaign again. A campaign that fails with [lease.ErrPermanent] ends it too.
func (e *Election) Lead(ctx context.Context, lead func(ctx context.Context, term int64) error) error {
	for {
		l, err := e.Campaign(ctx)
		if err != nil {
			return err
		}
		lost := false
		func() {
			defer func() { _ = l.Resign(ctx) }() // also when lead panics; what fails here runs out by itself
			err = lead(l.Context(), l.Term())
			lost = l.Context().Err() != nil
		}()
		switch cause := context.Cause(ctx); {
		case cause != nil && errors.Is(err, cause):
			return err
		case cause != nil:
			return errors.Join(err, cause)
		case !lost:
			return err
		}
	}
}
