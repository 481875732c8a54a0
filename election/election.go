// Package election lets the members of a fleet elect a leader, which leads until it resigns, dies,
// or loses the store.
//
//	e := election.New(locks, "primary")
//	leadership, err := e.Campaign(ctx) // waits until this member is elected
//	if err != nil { ... }
//	defer leadership.Resign(ctx)
//	lead(leadership.Context(), leadership.Token()) // the context ends when another may lead
//
// An election is a fair mutex: members are elected in the order in which they began to campaign.
// The fencing token of a leadership is called its term in other systems. It rises with each
// leadership. Writes of a leader carry it, because a frozen leader does not know that it does not
// lead any more.
package election

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/solotick/solotick/lock"
)

// ErrNoLeader is returned by [Election.Leader] while there is no leader.
var ErrNoLeader = errors.New("election: no leader")

// Election has campaigns, and shows its leader. It is safe for concurrent use.
type Election struct {
	locks *lock.Locks
	mutex *lock.Mutex
}

// New returns the election of that name. The name of a member is the holder's name of locks: see
// [lock.WithHolder]. [lock.WithTTL] sets how long others wait when the leader dies, and
// [lock.WithMaxHold] how long one may lead. Campaign returns the faults of the name and the
// options.
func New(locks *lock.Locks, name string, opts ...lock.Option) *Election {
	return &Election{locks, locks.Mutex(name, append([]lock.Option{lock.WithFairness(), lock.WithBroadcast()}, opts...)...)}
}

// Campaign waits until this member is elected, ctx ends, or the wait timeout passes. It fails at
// once where waiting does not help: see [lock.Lock]. ctx is the parent of the leadership's context.
func (e *Election) Campaign(ctx context.Context) (*Leadership, error) {
	h, err := e.mutex.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	return &Leadership{h}, nil
}

// Leadership belongs to the elected member until it resigns or loses it. It is safe for concurrent
// use.
type Leadership struct{ hold *lock.Hold }

// Context returns a context that ends when this member does not lead any more, with the cause of
// [lock.Hold.Context]. Stop the work then: another member may lead.
func (l *Leadership) Context() context.Context { return l.hold.Context() }

// Token returns the fencing token of this leadership: higher than those of all earlier ones.
func (l *Leadership) Token() int64 { return l.hold.Token() }

// Valid reports whether this member is proved to lead at this instant.
func (l *Leadership) Valid() bool { return l.hold.Valid() }

// Resign ends the leadership, and the next member is elected at once. Always resign, also after a
// loss. See [lock.Hold.Release].
func (l *Leadership) Resign(ctx context.Context) error { return l.hold.Release(ctx) }

// Leader describes the leader.
type Leader struct {
	Member    string // its holder's name
	Token     int64
	Since     time.Time     // by the store's clock
	Remaining time.Duration // of the lease, unless it is renewed
}

// Leader returns the leader. The error is [ErrNoLeader] while there is none.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	v, err := e.locks.Inspect(ctx, e.mutex.Name())
	if err != nil {
		return Leader{}, fmt.Errorf("election: %w", err)
	}
	return leader(v)
}

func leader(v lock.State) (Leader, error) {
	for _, h := range v.Holds {
		if h.Remaining > 0 {
			return Leader{Member: h.Holder, Token: h.Token, Since: h.Since, Remaining: h.Remaining}, nil
		}
	}
	return Leader{}, ErrNoLeader
}

// Observe yields the leader at once and after each change, until ctx ends. The error is
// [ErrNoLeader] while there is none, or an error of the store: see [lock.Locks.Watch].
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

// Lead campaigns, and calls lead when this member is elected, until lead returns while the
// leadership is valid, or ctx ends. It returns the result of lead, or the cause of ctx. lead must
// return when its context ends: only then does this member campaign again. A campaign that fails
// also ends it: with [lease.ErrPermanent], or with [lease.ErrHeld] after [lock.WithWaitTimeout].
func (e *Election) Lead(ctx context.Context, lead func(ctx context.Context, token int64) error) error {
	for {
		l, err := e.Campaign(ctx)
		if err != nil {
			return err
		}
		lost := false
		func() {
			defer func() { _ = l.Resign(ctx) }() // also when lead panics; if it fails, the lease expires
			err = lead(l.Context(), l.Token())
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
