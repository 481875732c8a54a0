package stores

import (
	"errors"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

// Advice says what to do about an error of Redis. It names the keys of the configuration that are
// in use.
func (s *Store) Advice(err error) string {
	switch {
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
	}
	hint := redislease.Hint(err)
	if strings.Contains(hint, "password") && s.redis.Password.Reveal() != "" {
		where = "redis.username and redis.password"
	}
	return strings.NewReplacer("the URL or the options of Redis", where, "the user of Redis", "the user of redis").Replace(hint)
}
