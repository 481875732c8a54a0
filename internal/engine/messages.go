package engine

import (
	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

const (
	// messagePrefix and a session's own name are the key of the value whose changes carry its
	// messages.
	messagePrefix = "message:"
	messageKept   = 5 * time.Minute
	// toAll is in place of the name of a message's receiver. It is no name.
	toAll = "message:"
)

// Publish implements [protocol.Store].
func (s *Session) Publish(ctx context.Context, message []byte) error {
	if err := protocol.CheckMessage(message); err != nil {
		return err
	}
	if m, ok := s.medium().(driver.Messenger); ok {
		return m.Publish(ctx, message)
	}
	return s.notify(ctx, []driver.Notification{{Name: toAll, Message: message}})
}

// PublishTo implements [protocol.Store]. A [driver.Messenger] has one channel, which all receive.
func (s *Session) PublishTo(ctx context.Context, letters []protocol.Letter) (sent bool, err error) {
	if _, ok := s.medium().(driver.Messenger); ok {
		return false, nil
	}
	list := make([]driver.Notification, len(letters))
	for i, l := range letters {
		if err := protocol.CheckMessage(l.Message); err != nil {
			return false, err
		}
		list[i] = driver.Notification{Name: l.To, Message: l.Message}
	}
	return true, s.notify(ctx, list)
}

// notify sends messages by one change. Of two at a time one is sent again.
func (s *Session) notify(ctx context.Context, messages []driver.Notification) error {
	for {
		from := s.published.Load()
		if from == nil {
			from = new(driver.Version)
		}
		op := driver.Op{Key: messagePrefix + s.name(), Change: &driver.Change{
			From: *from, ID: s.nextID(), Data: []byte("x"), Keep: messageKept, Notify: messages,
		}}
		results, err := s.doAll(ctx, op)
		if err != nil {
			return failed("publish", s.Namespace(), err)
		}
		if version := results[0].Version; results[0].Status == driver.Done {
			s.published.Store(&version)
			return nil
		}
		version := results[0].Value.Version // the store forgot it, or the last answer was lost
		s.published.Store(&version)
	}
}

// Subscribe implements [protocol.Store].
func (s *Session) Subscribe(ctx context.Context, receive func(message []byte), names ...string) error {
	if m, ok := s.medium().(driver.Messenger); ok {
		return m.Receive(ctx, receive)
	}
	return s.medium().Subscribe(ctx, func(n driver.Notification) {
		if n.Message != nil && (n.Name == toAll || slices.Contains(names, n.Name)) {
			receive(n.Message)
		}
	})
}
