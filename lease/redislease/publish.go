package redislease

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

// progressChannel is the channel of messages from one member to all, or to one.
func (s *store) progressChannel(to ...string) string {
	return strings.Join(append([]string{"solotick", s.namespace, "progress"}, to...), ":")
}

// Publish implements [protocol.Store].
func (s *store) Publish(ctx context.Context, message []byte) error {
	if err := protocol.CheckMessage(message); err != nil {
		return err
	}
	if err := s.client.Publish(ctx, s.progressChannel(), message).Err(); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// PublishTo implements [protocol.Store].
func (s *store) PublishTo(ctx context.Context, letters []protocol.Letter) (sent bool, err error) {
	for _, l := range letters {
		if err := protocol.CheckMessage(l.Message); err != nil {
			return false, err
		}
	}
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, l := range letters {
			p.Publish(ctx, s.progressChannel(l.To), l.Message)
		}
		return nil
	})
	if err != nil {
		return true, fmt.Errorf("publish: %w", err)
	}
	return true, nil
}

// Subscribe implements [protocol.Store].
func (s *store) Subscribe(ctx context.Context, receive func(message []byte), names ...string) error {
	channels := []string{s.progressChannel()}
	for _, name := range names {
		channels = append(channels, s.progressChannel(name))
	}
	return s.subscribe(ctx, "subscribe", func(message string) {
		if message != "" {
			receive([]byte(message))
		}
	}, channels...)
}
