package sologocron

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/lock"
)

// ErrNotLeader is returned by [Elector.IsLeader] on every replica but one.
var ErrNotLeader = errors.New("sologocron: another replica leads")

// Elector is a gocron.Elector: only the scheduler of the leader runs jobs. Ticks that are due while
// no leader is elected are lost, at most a lease's TTL after one dies. A [Locker] is the better
// choice where that matters.
type Elector struct {
	leads atomic.Pointer[election.Leadership]
	stop  context.CancelFunc
	done  chan struct{}
	err   error // valid after done
}

// NewElector campaigns until Close in the election of that name. Options are those of package lock.
func NewElector(locks *lock.Locks, name string, options ...lock.Option) *Elector {
	ctx, stop := context.WithCancel(context.Background())
	e := &Elector{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		e.campaign(ctx, election.New(locks, name, options...))
	}()
	return e
}

func (e *Elector) campaign(ctx context.Context, election *election.Election) {
	for ctx.Err() == nil {
		leadership, err := election.Campaign(ctx)
		if err != nil {
			e.err = err
			return
		}
		e.leads.Store(leadership)
		<-leadership.Context().Done()
		e.leads.Store(nil)
		_ = leadership.Resign(context.WithoutCancel(ctx)) // it is lost, or the store learns of its end
	}
}

// IsLeader implements gocron.Elector: the error is nil on the leader. It is [ErrNotLeader] on the
// others, and says why when this replica does not campaign any more.
func (e *Elector) IsLeader(context.Context) error {
	if leadership := e.leads.Load(); leadership != nil && leadership.Valid() {
		return nil
	}
	select {
	case <-e.done:
		return errors.Join(ErrNotLeader, e.err)
	default:
		return ErrNotLeader
	}
}

// Close resigns, so that another replica leads at once, and waits for that.
func (e *Elector) Close() {
	e.stop()
	<-e.done
}
