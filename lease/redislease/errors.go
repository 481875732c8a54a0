package redislease

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
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

// permanently are beginnings of errors that the same command gets until somebody changes the
// server's users, the client's options, or the key. READONLY, LOADING, CLUSTERDOWN, MASTERDOWN,
// OOM, MISCONF and the like pass.
//
// NOAUTH and WRONGPASS are among them. A server reads its users before it asks for a password, so
// neither a start nor a failover between servers of the same users causes them.
var permanently = []string{
	"NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE",
	"ERR Protocol error: unauthenticated", // NOAUTH, to a command of more than ten words
	"ERR AUTH", "ERR invalid password", "ERR DB index", "ERR unknown command", "ERR Error compiling script",
	"ERR The user executing the script", "ERR ACL failure in script", // NOPERM in a script: of Redis 7.0; of Valkey 8.0
}

// classified returns err. The result matches lease.ErrPermanent if a retry cannot succeed.
func classified(err error) error {
	if errors.Is(err, redis.ErrClosed) {
		return protocol.Permanent(err)
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) {
		return protocol.Permanent(err)
	}
	message := err.Error()
	for _, beginning := range permanently {
		if strings.HasPrefix(message, beginning) {
			return protocol.Permanent(err)
		}
	}
	return err
}

// keyError is the error of a call that met a value which is not the store's: another program uses
// the same key. It matches driver.ErrRecord. Rename or remove the key, or use another namespace.
type keyError struct {
	Keys []string // one of which is meant; mostly there is one only
	Err  error    // what the server said
}

func (e *keyError) Error() string {
	which := "key " + strings.Join(e.Keys, " or ")
	return fmt.Sprintf("%s holds something else, by another program: rename or remove it: %v", which, e.Err)
}

// Unwrap returns what the server said.
func (e *keyError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, driver.ErrRecord) true.
func (e *keyError) Is(target error) bool { return target == protocol.ErrRecord }

// ofKeys is err, which is about what one of these keys holds.
func ofKeys(keys []string, err error) error {
	err = classified(err)
	if strings.HasPrefix(err.Error(), "WRONGTYPE") || strings.HasPrefix(err.Error(), "UNREADABLE") || errors.Is(err, errReply) {
		return &keyError{Keys: keys, Err: err}
	}
	return err
}

// foreign names the keys of cmd where a value of another type is why it failed.
func foreign(cmd *redis.Cmd, err error) error {
	if !strings.HasPrefix(err.Error(), "WRONGTYPE") {
		return err
	}
	e := &keyError{Err: err}
	args := cmd.Args()
	count, _ := strconv.Atoi(fmt.Sprint(args[firstKey-1]))
	for _, key := range args[firstKey:min(firstKey+count, len(args))] {
		e.Keys = append(e.Keys, fmt.Sprint(key))
	}
	return e
}
