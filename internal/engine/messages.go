package engine

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

const (
	// messagePrefix and a session's own name are the key of the value whose changes carry its
	// messages.
	messagePrefix = "message:"
	messageKept   = 5 * time.Minute
)

// Publish implements [protocol.Store].
func (s *Session) Publish(ctx context.Context, message []byte) error {
	if err := protocol.CheckMessage(message); err != nil {
		return err
	}
	if m, ok := s.medium().(driver.Messenger); ok {
		return m.Publish(ctx, message)
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	for {
		op := driver.Op{Key: messagePrefix + s.name(), Change: &driver.Change{
			From: s.published, ID: s.nextID(), Data: []byte("x"), Keep: messageKept, Notify: []driver.Notification{{Name: "message", Message: message}},
		}}
		results, err := s.doAll(ctx, op)
		if err != nil {
			return failed("publish", s.Namespace(), err)
		}
		if results[0].Status == driver.Done {
			s.published = results[0].Version
			return nil
		}
		s.published = results[0].Value.Version // the store forgot it, or the last answer was lost
	}
}

// Subscribe implements [protocol.Store].
func (s *Session) Subscribe(ctx context.Context, receive func(message []byte)) error {
	if m, ok := s.medium().(driver.Messenger); ok {
		return m.Receive(ctx, receive)
	}
	return s.medium().Subscribe(ctx, func(n driver.Notification) {
		if n.Message != nil {
			receive(n.Message)
		}
	})
}
