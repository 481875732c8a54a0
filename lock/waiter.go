package lock

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

// waiter is a claim that waits in line.
type waiter struct {
	claim protocol.LockClaim
	told  chan struct{} // of size 1
}

// enter lets a waiter be told, from now on if the subscription is there already.
func (s *Locks) enter(c protocol.LockClaim) *waiter {
	w := &waiter{claim: c, told: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters[c.Request] = w
	s.listenLocked()
	return w
}

// listenLocked starts to listen, if that has not happened yet.
func (s *Locks) listenLocked() {
	if !s.listens && s.store != nil && s.life.Err() == nil {
		s.listens = true
		s.work.Go(s.listen)
	}
}

func (s *Locks) leave(w *waiter) {
	s.mu.Lock()
	delete(s.waiters, w.claim.Request)
	s.mu.Unlock()
}

func (w *waiter) tell() {
	select {
	case w.told <- struct{}{}:
	default: // it was told, and has not asked since
	}
}

// sleep returns when the waiter is told, d has passed, or ctx has ended. A nil waiter is never told.
func (w *waiter) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	var told <-chan struct{}
	if w != nil {
		told = w.told
	}
	select {
	case <-told:
	case <-t.C:
	case <-ctx.Done():
	}
}

// hears reports whether those who wait are told at the moment.
func (s *Locks) hears() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listening
}

// listen tells those who wait until Close.
func (s *Locks) listen() {
	const least, most = 50 * time.Millisecond, 5 * time.Second
	for pause := least; s.life.Err() == nil; pause = min(2*pause, most) {
		_ = s.store.Listen(s.life, s.tell)
		s.mu.Lock()
		if s.listening {
			s.listening, pause = false, least
		}
		s.mu.Unlock()
		t := time.NewTimer(pause/2 + rand.N(pause/2+1))
		select {
		case <-t.C:
		case <-s.life.Done():
			t.Stop()
		}
	}
}

// tell is what a [protocol.Locker] calls.
func (s *Locks) tell(name string, requests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if name == "" || w.claim.Name == name {
			w.tell()
		}
	}
	switch {
	case name == "": // what happened before may have been missed
		s.listening = true
		for _, w := range s.waiters {
			w.tell()
		}
		s.keeper.Check()
	case len(requests) == 0:
		for _, w := range s.waiters {
			if w.claim.Name == name {
				w.tell()
			}
		}
		for _, h := range s.holds {
			if h.Name() == name {
				h.lease.Check()
			}
		}
	default:
		for _, r := range requests {
			if w := s.waiters[r]; w != nil {
				w.tell()
			} else if h := s.holds[r]; h != nil {
				h.lease.Check() // it may have been taken away
			}
		}
	}
}

// gateKey tells apart those who need not wait for each other.
type gateKey struct {
	name           string
	permits, limit int
}

// gate lets few of those who wait in this process for the same, in no order that anybody has asked for, wait in the store's line: for
// the others nothing would come of it but work. They follow one by one, in the order in which they came.
type gate struct {
	free    int
	waiting []chan struct{}
}

// mostInLine is how many of a process wait in the store's line at once, when so many can hold the lock together.
const mostInLine = 16

// queue returns when the claim may wait in the store's line, and what it has to call afterwards; false when ctx ends before.
func (s *Locks) queue(ctx context.Context, c protocol.LockClaim) (pass func(), ok bool) {
	key := gateKey{c.Name, c.Permits, c.Limit}
	s.mu.Lock()
	width := min(c.Limit/c.Permits, mostInLine)
	g := s.gates[key]
	if g == nil {
		g = &gate{free: width}
		s.gates[key] = g
	}
	pass = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(g.waiting) > 0 {
			close(g.waiting[0])
			g.waiting = g.waiting[1:]
			return
		}
		if g.free++; g.free == width {
			delete(s.gates, key)
		}
	}
	if g.free > 0 {
		g.free--
		s.mu.Unlock()
		return pass, true
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return pass, true
	case <-ctx.Done():
	}
	s.mu.Lock()
	for i, t := range g.waiting {
		if t == turn {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			s.mu.Unlock()
			return nil, false
		}
	}
	s.mu.Unlock()
	pass() // its turn came as it gave up
	return nil, false
}
