package lock

import (
	"context"
	"errors"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
)

// maxTokens is the number of names whose newest token is remembered. It matters only when the store
// has lost a token.
const maxTokens = 1 << 14

// reply is the store's answer to a claim.
type reply struct {
	answer protocol.LockAnswer
	err    error
}

// ask claims once for t, and returns when the store answers or t is given up. The claim does not
// end with t: what was sent may still be carried out, so it is withdrawn once it is answered. A
// withdrawal that overtook it would find nothing. ok is false when t was given up.
func (s *Locks) ask(t attempt) (a protocol.LockAnswer, err error, ok bool) { //nolint:revive // err is the store's, ok the caller's
	if err := context.Cause(t.ctx); err != nil && !t.claim.Pending { // nothing was sent
		return protocol.LockAnswer{}, err, false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.ctx))
	stop := context.AfterFunc(s.late, cancel)
	replies := make(chan reply, 1)
	s.work.Go(func() {
		defer cancel()
		defer stop()
		a, err := s.claim(ctx, t.claim)
		replies <- reply{a, err}
	})
	select {
	case r := <-replies:
		return r.answer, r.err, true
	case <-t.ctx.Done():
		s.work.Go(func() {
			defer cancel()
			s.withdraw(t.claim, replies)
		})
		return protocol.LockAnswer{}, context.Cause(t.ctx), false
	}
}

// replyGrace is how long a claim that was given up may take to be answered. Then it is withdrawn
// unanswered, and the store has to remember that.
const replyGrace = 100 * time.Millisecond

// withdraw returns what a claim gets that was given up while it was under way.
func (s *Locks) withdraw(c protocol.LockClaim, replies <-chan reply) {
	grace := time.NewTimer(replyGrace)
	defer grace.Stop()
	select {
	case r := <-replies:
		if r.err == nil && r.answer.Status == protocol.Held && !c.Pending {
			return // it got nothing
		}
		c.Pending = c.Pending || r.err != nil
	case <-grace.C:
		c.Pending = true
	case <-s.late.Done():
		return
	}
	s.abandon(c)
}

// claim claims once, with the newest known token of the name. Tokens thus rise even when a failover
// loses the newest grant and the clock of the new primary is behind.
func (s *Locks) claim(ctx context.Context, c protocol.LockClaim) (protocol.LockAnswer, error) {
	s.mu.Lock()
	c.Known = s.tokens[c.Name]
	s.mu.Unlock()
	a, err := s.store.ClaimLock(ctx, c)
	if err == nil && a.Token > c.Known {
		s.remember(c.Name, a.Token)
	}
	return a, err
}

func (s *Locks) remember(name string, token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.tokens[name]; !known && len(s.tokens) >= maxTokens {
		for other := range s.tokens {
			delete(s.tokens, other)
			break
		}
	}
	s.tokens[name] = max(s.tokens[name], token)
}

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
