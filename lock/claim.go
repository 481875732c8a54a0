package lock

import (
	"context"

	"github.com/solotick/solotick/internal/protocol"
)

// maxTokens is the number of names whose newest token is remembered. It matters only when the store
// has lost a token.
const maxTokens = 1 << 14

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
