package lock

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
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
