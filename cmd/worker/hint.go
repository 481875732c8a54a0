package main

import (
	"context"
	"errors"
	"net"
	"strings"
)

// hint says what to look at when Redis answers with err, or does not answer.
func hint(err error) string {
	message := err.Error()
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(message, part) {
				return true
			}
		}
		return false
	}
	var dns *net.DNSError
	switch {
	case has("NOAUTH", "WRONGPASS", "invalid username-password"):
		return "check the user and the password in redis.url"
	case has("NOPERM"):
		return "let the user of redis.url do what package redislease needs: ~solotick:* &solotick:* +@read +@write +@scripting " +
			"+@pubsub +@connection +time, and use the keys of redis_stream jobs"
	case has("tls:", "x509:", "first record does not look like a TLS handshake"):
		return "check whether this Redis speaks TLS: rediss:// does, redis:// does not"
	case has("unknown command", "ERR Error compiling script", "READONLY"):
		return "it must be a primary of Redis 7.0 or Valkey 7.2, or later"
	case errors.As(err, &dns):
		return "check the host in redis.url"
	case errors.Is(err, context.DeadlineExceeded), has("i/o timeout"):
		return "check the network and the firewall between here and the address in redis.url"
	default:
		return "check that Redis runs, and its address in redis.url"
	}
}
