package lock

import (
	"context"

	"github.com/solotick/solotick/lease/protocol"
)

// mostTokens bounds for how many names the newest token is remembered. It only counts when the
// store has lost it.
const mostTokens = 1 << 14

// ask claims once, with the newest token that is known of the name: so tokens rise also when a
// failover loses the newest grant and the clock of the server after it is behind.
func (s *Locks) ask(ctx context.Context, c protocol.LockClaim) (protocol.LockAnswer, error) {
	s.mu.Lock()
	c.Known = s.tokens[c.Name]
	s.mu.Unlock()
	a, err := s.store.ClaimLock(ctx, c)
	if err == nil && a.Token > c.Known {
		s.learn(c.Name, a.Token)
	}
	return a, err
}

func (s *Locks) learn(name string, token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.tokens[name]; !known && len(s.tokens) >= mostTokens {
		for other := range s.tokens {
			delete(s.tokens, other)
			break
		}
	}
	s.tokens[name] = max(s.tokens[name], token)
}
