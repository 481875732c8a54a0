package stores

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

func TestHintsNameTheCause(t *testing.T) {
	s := &Store{}
	for message, want := range map[string]string{
		"NOAUTH Authentication required.":                       "password",
		"WRONGPASS invalid username-password pair":              "password",
		"NOPERM this user has no permissions":                   "solotick:*",
		"tls: first record does not look like a TLS handshake":  "TLS",
		"ERR unknown command 'EVALSHA'":                         "Redis 7.0",
		"dial tcp 127.0.0.1:1: connect: connection refused":     "Redis runs",
		"dial tcp 192.0.2.1:6379: i/o timeout":                  "network",
		"READONLY You can't write against a read only replica.": "primary",
	} {
		require.Contains(t, s.Advice(errors.New(message)), want, message)
	}
	require.Contains(t, s.Advice(context.DeadlineExceeded), "network")
	require.Contains(t, s.Advice(&net.DNSError{Err: "no such host"}), "host")
}

func TestHintsNameTheKeysInUse(t *testing.T) {
	refused, denied := errors.New("dial tcp 127.0.0.1:1: connect: connection refused"), errors.New("WRONGPASS invalid username-password pair")
	for text, want := range map[string][2]string{
		"{url: 'redis://h'}":                                {"redis.url", "redis.url"},
		"{url: 'redis://h', password: x}":                   {"redis.url", "redis.username and redis.password"},
		"{addrs: ['h:1', 'i:1'], cluster: true}":            {"redis.addrs", "redis.addrs"},
		"{addrs: ['h:1'], master: m, password: x}":          {"redis.addrs", "redis.username and redis.password"},
		"{quorum: ['redis://a', 'redis://b', 'redis://c']}": {"redis.quorum", "redis.quorum"},
	} {
		cfg, err := config.Parse("f", []byte("redis: "+text+"\njobs: [{name: a, schedule: '@daily', log: {message: x}}]"), nil)
		require.NoError(t, err, text)
		s := &Store{redis: cfg.Redis}
		require.Equal(t, "check that Redis runs, and its address in "+want[0], s.Advice(refused), text)
		require.Equal(t, "check the user and the password in "+want[1], s.Advice(denied), text)
	}
}
