package lock

import (
	"context"
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// abandoned holds what a claim may have got and nobody uses: a position in the queue, or a grant
// whose reply was lost.
type abandoned struct {
	grant protocol.LockGrant
	until time.Time // then it has expired
}

// maxReturners is the number of goroutines that return abandoned claims. An outage can abandon many
// more.
const maxReturners = 16

// abandon returns, in the background, whatever the claim may have got. Close waits for the caller.
func (s *Locks) abandon(c protocol.LockClaim) {
	o := abandoned{until: time.Now().Add(max(c.TTL, c.WaiterTTL)), grant: c.Grant(protocol.LockAnswer{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns = append(s.returns, o)
	if s.returners < maxReturners {
		s.returners++
		s.work.Go(s.returnAbandoned)
	}
}

// returnAbandoned returns abandoned claims until there are none, and after Close for at most 2 s.
func (s *Locks) returnAbandoned() {
	for failures := 0; ; {
		o, ok := s.nextAbandoned()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(s.late, min(time.Until(o.until), time.Second)) // a call that hangs must not block the others
		err := s.store.ReleaseLock(ctx, o.grant)
		cancel()
		if err == nil || errors.Is(err, protocol.ErrPermanent) { // it expires by itself
			failures = 0
			continue
		}
		s.mu.Lock()
		s.returns = append(s.returns, o)
		s.mu.Unlock()
		sleep.For(s.late, sleep.Backoff(failures, minRetryInterval, time.Second))
		failures++
	}
}

// nextAbandoned returns the next abandoned claim that has not expired; false when there is none, or
// no time left.
func (s *Locks) nextAbandoned() (o abandoned, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late.Err() != nil {
		s.returns = nil
	}
	for len(s.returns) > 0 {
		o, s.returns = s.returns[0], s.returns[1:]
		if time.Now().Before(o.until) {
			return o, true
		}
	}
	s.returns = nil
	s.returners--
	return abandoned{}, false
}
