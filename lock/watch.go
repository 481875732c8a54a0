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
