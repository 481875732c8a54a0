package memlease

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
)

type subscriber func(message []byte)

// Publish implements [protocol.Publisher]. The subscribers have received the message when it
// returns.
func (s *Store) Publish(ctx context.Context, message []byte) error {
	if err := cmp.Or(protocol.CheckMessage(message), context.Cause(ctx)); err != nil {
		return err
	}
	s.mu.Lock()
	subscribers := slices.Collect(maps.Keys(s.subscribers))
	s.mu.Unlock()
	for _, f := range subscribers {
		(*f)(message)
	}
	return nil
}

// Subscribe implements [protocol.Publisher].
func (s *Store) Subscribe(ctx context.Context, receive func(message []byte)) error {
	f := subscriber(receive)
	s.mu.Lock()
	if s.subscribers == nil {
		s.subscribers = make(map[*subscriber]struct{})
	}
	s.subscribers[&f] = struct{}{}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.subscribers, &f)
	s.mu.Unlock()
	return context.Cause(ctx)
}
