package redislease

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
)

func (s *store) progressChannel() string { return "solotick:" + s.namespace + ":progress" }

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

// Subscribe implements [protocol.Store].
func (s *store) Subscribe(ctx context.Context, receive func(message []byte)) error {
	return s.subscribe(ctx, s.progressChannel(), "subscribe", func(message string) {
		if message != "" {
			receive([]byte(message))
		}
	})
}
