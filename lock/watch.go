package lock

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// pollInterval is the time between two reads of a watched lock without a notification.
const pollInterval = time.Second

// Watch yields who holds the lock: at once, and whenever that has changed, until ctx ends.
//
// It notices a change at once where holders use [WithBroadcast], else within about a second. It may
// yield several quick changes as one. It yields an error of the store once, until the next success.
// Waiters are shown as they were then: Watch does not notice changes of the queue. After
// [Locks.Close] it yields [ErrClosed] and ends.
func (s *Locks) Watch(ctx context.Context, name string) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		if s.store == nil {
			yield(State{Name: name}, s.fault)
			return
		}
		w := s.watch(name)
		defer s.unwatch(w)
		outer := ctx
		ctx, stop := s.until(ctx, 0)
		defer stop()
		var last []int64 // tokens
		for failed := false; ctx.Err() == nil && s.life.Err() == nil; {
			pause := jittered(pollInterval)
			v, err := s.Inspect(ctx, name)
			switch {
			case ctx.Err() != nil:
				continue
			case err != nil:
				if last != nil || !failed {
					last, failed = nil, true
					if !yield(State{Name: name}, err) {
						return
					}
				}
			default:
				v.Holds = slices.DeleteFunc(v.Holds, func(h Place) bool { return h.Remaining == 0 })
				tokens := []int64{}
				for _, h := range v.Holds {
					tokens = append(tokens, h.Token)
					pause = min(pause, h.Remaining+time.Millisecond)
				}
				if last == nil || !slices.Equal(tokens, last) {
					last, failed = tokens, false
					if !yield(v, nil) {
						return
					}
				}
			}
			w.sleep(ctx, pause)
		}
		if outer.Err() == nil {
			yield(State{Name: name}, ErrClosed)
		}
	}
}

func (s *Locks) watch(name string) *waiter {
	w := &waiter{claim: protocol.LockClaim{Name: name}, notified: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[w] = struct{}{}
	s.listenLocked()
	return w
}

func (s *Locks) unwatch(w *waiter) {
	s.mu.Lock()
	delete(s.watches, w)
	s.mu.Unlock()
}

// State says who holds a lock and who waits for it.
type State struct {
	Name    string
	Token   int64   // of the last grant
	Holds   []Place // oldest grant first
	Queue   []Place // in the order in which they are granted the lock
	Waiters int     // how many wait; Queue shows the first 100 of them
}

// Place is that of a holder of a lock, or of a waiter in its queue.
type Place struct {
	Holder  string // the name that WithHolder gave it
	Token   int64  // 0 of a waiter
	Permits int    // held or asked for
	// Since is when the holder was granted the lock, or the waiter came, by the store's clock.
	Since time.Time
	// Remaining is left of the lease unless it is renewed, or of the waiter's TTL unless it claims
	// again. A holder with 0 keeps its permits until another claim needs them.
	Remaining time.Duration
}

func stateOf(l protocol.Lock) State {
	s := State{Name: l.Name, Token: l.Token, Waiters: l.Waiters}
	for _, h := range l.Holds {
		s.Holds = append(s.Holds, Place{h.Holder, h.Token, h.Permits, h.Since, h.Remaining})
	}
	for _, w := range l.Queue {
		s.Queue = append(s.Queue, Place{w.Holder, 0, w.Permits, w.Since, w.Remaining})
	}
	return s
}
