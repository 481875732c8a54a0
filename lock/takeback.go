package lock

import (
	"context"
	"errors"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

// owed is what a claim may have got that nobody wants any more: a place in line, or a grant whose answer was lost.
type owed struct {
	grant protocol.LockGrant
	until time.Time // then it has run out by itself
}

// mostTakers is how many give back at once: the callers of an outage can be many more, and do not wait for it.
const mostTakers = 16

// takeBack gives back, in the background, whatever the claim may have got. The caller is one that Close waits for.
func (s *Locks) takeBack(c protocol.LockClaim) {
	o := owed{until: time.Now().Add(max(c.Term, c.Ticket)), grant: c.Grant(protocol.LockAnswer{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed = append(s.owed, o)
	if s.takers < mostTakers {
		s.takers++
		s.work.Go(s.giveBack)
	}
}

// giveBack gives back until nothing is left to, and after Close for a little longer.
func (s *Locks) giveBack() {
	for pause := firstPause; ; {
		o, ok := s.nextOwed()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(s.late, min(time.Until(o.until), time.Second)) // one that hangs must not hold up the others
		err := s.store.ReleaseLock(ctx, o.grant)
		cancel()
		if err == nil || errors.Is(err, protocol.ErrPermanent) { // then it runs out
			pause = firstPause
			continue
		}
		s.mu.Lock()
		s.owed = append(s.owed, o)
		s.mu.Unlock()
		t := time.NewTimer(jittered(pause))
		select {
		case <-t.C:
		case <-s.late.Done():
			t.Stop()
		}
		pause = min(2*pause, time.Second)
	}
}

// nextOwed takes what is to be given back next; false when there is no more, or no more time.
func (s *Locks) nextOwed() (o owed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late.Err() != nil {
		s.owed = nil
	}
	for len(s.owed) > 0 {
		o, s.owed = s.owed[0], s.owed[1:]
		if time.Now().Before(o.until) {
			return o, true
		}
	}
	s.owed = nil
	s.takers--
	return owed{}, false
}
