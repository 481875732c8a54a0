package redislease

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redisadvice"
)

// Warnings implements [protocol.Store]: whether Redis evicts records, what a restart of it loses,
// and whether this user may publish and subscribe. It says a thing once of several servers.
func (s *store) Warnings(ctx context.Context) []protocol.Warning {
	warnings := examine(ctx, s.client, false)
	return warn(warnings, "messages", redisadvice.Messages(s.tryMessages(ctx, s.channel())))
}

// Warnings is [Store.Warnings], for a quorum.
func (n *Node) Warnings(ctx context.Context) []protocol.Warning {
	warnings := examine(ctx, n.store.client, true)
	return warn(warnings, "messages", redisadvice.Messages(n.store.tryMessages(ctx, n.channel())))
}

// examine looks at the settings of one server: of a Cluster, whichever answers.
func examine(ctx context.Context, client redis.UniversalClient, quorum bool) (warnings []protocol.Warning) {
	text, err := client.Info(ctx).Result()
	if err != nil {
		return nil // it does not answer, or the user may not ask
	}
	info := redisadvice.Fields(text)
	warnings = warn(warnings, "eviction", redisadvice.Eviction(info))
	return warn(warnings, "persistence", redisadvice.Persistence(info, quorum, func(name string) (string, error) {
		values, err := client.ConfigGet(ctx, name).Result()
		return values[name], err
	}))
}

func warn(warnings []protocol.Warning, check string, f redisadvice.Finding) []protocol.Warning {
	if f.Severity != redisadvice.Warns && f.Severity != redisadvice.Fails {
		return warnings
	}
	return append(warnings, protocol.Warning{Check: check, Text: f.Text, Change: f.Change})
}

// tryMessages subscribes to a channel and publishes there what wakes nobody. The error is the
// server's refusal.
func (s *store) tryMessages(ctx context.Context, channel string) error {
	sub := s.client.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	if _, err := sub.ReceiveTimeout(ctx, time.Second); isRefusal(err) {
		return err
	}
	if err := s.client.Publish(ctx, channel, "solotick-check").Err(); isRefusal(err) {
		return err
	}
	return nil
}

// isRefusal reports whether the server has answered, with an error.
func isRefusal(err error) bool {
	_, is := err.(redis.Error) //nolint:errorlint // a client returns it as it came
	return is
}
