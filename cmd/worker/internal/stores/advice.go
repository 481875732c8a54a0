package stores

import (
	"errors"
	"fmt"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

// Explain adds to an error of the store where that is, and what to do about it.
func (s *Store) Explain(err error) error {
	if s.Checker == nil {
		return fmt.Errorf("Redis at %s: %w; %s", s.Addr, err, s.Advice(err)) //nolint:staticcheck // Redis is a name
	}
	if hint := s.Advice(err); hint != "" {
		return fmt.Errorf("%w; %s", err, hint) // it names the file, or the server
	}
	return err
}

// Advice says what to do about an error of the store; "" where that is not known. It names the keys
// of the configuration that are in use.
func (s *Store) Advice(err error) string {
	switch {
	case s.File != nil && errors.Is(err, protocol.ErrOutOfBounds):
		return "check the time on this machine, and try again: nothing was changed"
	case s.Checker != nil && errors.Is(err, protocol.ErrOutOfBounds):
		return "check the time on the store's server, and try again: nothing was changed"
	case s.Checker != nil:
		return s.Checker.Hint(err)
	case errors.Is(err, quorum.ErrRestarted):
		return "wait: a server of a quorum counts when it has remembered the namespace for a lease's TTL"
	case errors.Is(err, protocol.ErrOutOfBounds):
		return "check the time on Redis's machine, and try again: nothing was changed"
	}
	where := "redis.url"
	switch r := s.redis; {
	case r.Quorum != nil:
		where = "redis.quorum"
	case len(r.Addrs) > 0:
		where = "redis.addrs"
	case s.url:
		where = "store.url"
	}
	hint := redislease.Hint(err)
	if strings.Contains(hint, "password") && s.redis.Password.Reveal() != "" {
		where = "redis.username and redis.password"
	}
	return strings.NewReplacer("the URL or the options of Redis", where, "the user of Redis", "the user of redis").Replace(hint)
}
