package lock

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// waiter is a claim with a position in the queue.
type waiter struct {
	claim    protocol.LockClaim
	notified chan struct{} // of size 1
}

// enter registers a waiter. It is notified from now on, or as soon as the subscription exists.
func (s *Locks) enter(c protocol.LockClaim) *waiter {
	w := &waiter{claim: c, notified: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiters[c.Request] = w
	s.listenLocked()
	return w
}

// listenLocked starts the subscription, once.
func (s *Locks) listenLocked() {
	if !s.listenerStarted && s.store != nil && s.life.Err() == nil {
		s.listenerStarted = true
		s.work.Go(s.listen)
	}
}

func (s *Locks) leave(w *waiter) {
	s.mu.Lock()
	delete(s.waiters, w.claim.Request)
	s.mu.Unlock()
}

func (w *waiter) notify() {
	select {
	case w.notified <- struct{}{}:
	default: // it has a notification and has not claimed since
	}
}

// sleep returns when the waiter is notified, after d, or when ctx ends. A nil waiter is never
// notified.
func (w *waiter) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	var notified <-chan struct{}
	if w != nil {
		notified = w.notified
	}
	select {
	case <-notified:
	case <-t.C:
	case <-ctx.Done():
	}
}

// isSubscribed reports whether waiters are notified at present.
func (s *Locks) isSubscribed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed
}

// listen keeps the subscription until Close. It subscribes again with a growing pause when the
// store fails.
func (s *Locks) listen() {
	const minPause, maxPause = 50 * time.Millisecond, 5 * time.Second
	for failures := 0; s.life.Err() == nil; failures++ {
		_ = s.store.Listen(s.life, s.notify)
		s.mu.Lock()
		if s.subscribed {
			s.subscribed, failures = false, 0
		}
		s.mu.Unlock()
		sleep.For(s.life, sleep.Backoff(failures, minPause, maxPause))
	}
}

// notify passes a notification of the store to waiters, watchers and holders. An empty name says
// that the subscription is new.
func (s *Locks) notify(name string, requests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if name == "" || w.claim.Name == name {
			w.notify()
		}
	}
	switch {
	case name == "": // earlier notifications may be lost
		s.subscribed = true
		for _, w := range s.waiters {
			w.notify()
		}
		s.renewer.Check()
	case len(requests) == 0:
		for _, w := range s.waiters {
			if w.claim.Name == name {
				w.notify()
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
				w.notify()
			} else if h := s.holds[r]; h != nil {
				h.lease.Check() // the grant may have been revoked
			}
		}
	}
}

// gateKey identifies claims that are interchangeable.
type gateKey struct {
	name           string
	permits, limit int
}

// gate admits only some of the interchangeable claims of this process to the queue of the store.
// More would cost work and gain nothing. It admits the others one by one, in the order of their
// arrival.
type gate struct {
	free    int
	waiting []chan struct{}
}

// maxAdmitted is how many interchangeable claims of a process are in the queue at once, if as many
// can hold the lock together.
const maxAdmitted = 16

// admit waits until the claim may enter the queue of the store. The caller calls pass afterwards.
// ok is false when ctx ends before.
func (s *Locks) admit(ctx context.Context, c protocol.LockClaim) (pass func(), ok bool) {
	key := gateKey{c.Name, c.Permits, c.Limit}
	s.mu.Lock()
	width := min(c.Limit/c.Permits, maxAdmitted)
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
	admitted := make(chan struct{})
	g.waiting = append(g.waiting, admitted)
	s.mu.Unlock()
	select {
	case <-admitted:
		return pass, true
	case <-ctx.Done():
	}
	s.mu.Lock()
	for i, t := range g.waiting {
		if t == admitted {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			s.mu.Unlock()
			return nil, false
		}
	}
	s.mu.Unlock()
	pass() // it was admitted as it gave up
	return nil, false
}
