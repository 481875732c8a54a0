package lock

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

// lookEvery is how often a lock that is watched is looked at though nothing was heard of it.
const lookEvery = time.Second

// Watch yields who holds the lock of that name: at once, and whenever that has changed, until ctx
// ends. A change is noticed at once where locks acquired with [Tell] are granted and released, else
// within about a second; changes that follow each other quickly may be seen as one. What the store
// fails with is yielded as well, once in a row, and the next success after it. Who waits is shown
// as it was then; a change of that is not noticed. It yields [ErrClosed] last after [Locks.Close].
func (s *Locks) Watch(ctx context.Context, name string) iter.Seq2[protocol.Lock, error] {
	return func(yield func(protocol.Lock, error) bool) {
		if s.store == nil {
			yield(protocol.Lock{Name: name}, s.fault)
			return
		}
		w := s.watch(name)
		defer s.unwatch(w)
		outer := ctx
		ctx, stop := s.until(ctx, 0)
		defer stop()
		var last []int64 // tokens
		for told := false; ctx.Err() == nil && s.life.Err() == nil; {
			pause := jittered(lookEvery)
			v, err := s.store.Lock(ctx, name)
			switch {
			case ctx.Err() != nil:
				continue
			case err != nil:
				if last != nil || !told {
					last, told = nil, true
					if !yield(protocol.Lock{Name: name}, err) {
						return
					}
				}
			default:
				v.Holds = slices.DeleteFunc(v.Holds, func(h protocol.Hold) bool { return h.Left == 0 })
				tokens := []int64{}
				for _, h := range v.Holds {
					tokens = append(tokens, h.Token)
					pause = min(pause, h.Left+time.Millisecond)
				}
				if last == nil || !slices.Equal(tokens, last) {
					last, told = tokens, false
					if !yield(v, nil) {
						return
					}
				}
			}
			w.sleep(ctx, pause)
		}
		if outer.Err() == nil {
			yield(protocol.Lock{Name: name}, ErrClosed)
		}
	}
}

func (s *Locks) watch(name string) *waiter {
	w := &waiter{claim: protocol.LockClaim{Name: name}, told: make(chan struct{}, 1)}
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
