package redislease

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

// Check implements [protocol.Store].
func (s *store) Check(ctx context.Context) error { return protocol.Check(ctx, s) }

// Hint is [Hint], for a quorum.
func (n *Node) Hint(err error) string { return Hint(err) }

// hints are what to change, by what an error says. The first that matches holds.
var hints = []struct {
	hint  string
	parts []string
}{
	{"raise maxmemory of Redis, or make room in it", []string{"OOM command not allowed"}},
	{"start the replicas of Redis that are away, or lower its min-replicas-to-write", []string{"NOREPLICAS"}},
	{"see the log of Redis, and whether its disk is full", []string{"MISCONF"}},
	{"check the user and the password in the URL or the options of Redis", []string{"NOAUTH", "unauthenticated", "WRONGPASS", "invalid username-password", "without any password configured"}},
	{"let the user of Redis do what docs/operations.md lists under Rights, with the keys ~solotick:*, those of redis_stream " +
		"jobs and the channels &solotick:*", []string{"NOPERM", "The user executing the script", "ACL failure in script"}},
	{"rename or remove that key, which another program uses, or choose another namespace", []string{"WRONGTYPE"}},
	{"check whether this Redis speaks TLS (rediss:// does, redis:// does not), and which authority and server name its certificate has", []string{"tls:", "x509:", "first record does not look like a TLS handshake"}},
	{"name a database that this Redis has, such as 0: see its setting databases", []string{"DB index is out of range"}},
	{"name the primary: this server is a replica of Redis, which cannot be written to", []string{"READONLY"}},
	{"it must be a primary of Redis 7.0 or Valkey 7.2, or later", []string{"unknown command", "Error compiling script"}},
	{unanswered, []string{"i/o timeout"}},
	{"check that Redis runs, its address in the URL or the options of Redis, and that both sides use TLS or neither (rediss:// or redis://)",
		[]string{"EOF", "connection reset"}},
}

const unanswered = "check the network and the firewall between here and the address of Redis, and that both sides use TLS or neither (rediss:// or redis://)"

// Hint says what to change when a call of a store, or of any client of Redis, fails with err; ""
// when err is nil.
func Hint(err error) string {
	if err == nil {
		return ""
	}
	message := err.Error()
	for _, h := range hints {
		for _, part := range h.parts {
			if strings.Contains(message, part) {
				return h.hint
			}
		}
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, redis.ErrClosed):
		return "the store is closed: close it when everything that uses it has ended"
	case errors.As(err, &dns):
		return "check the host in the URL or the options of Redis"
	case errors.Is(err, context.DeadlineExceeded):
		return unanswered
	}
	return "check that Redis runs, and its address in the URL or the options of Redis"
}
