package solotest

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// store is the lease.Store of a replica: a session over its link, and the members, sets and
// messages of the fleet by the same link.
type store struct {
	*engine.Session
	link   *link
	shared *memlease.Store
}

func newStore(l *link, shared *memlease.Store) (*store, error) {
	session, err := engine.NewSession(l, shared.Namespace(), engine.Options{})
	return &store{session, l, shared}, err
}

// call asks the shared store through the link.
func call[T any](ctx context.Context, l *link, do func(ctx context.Context) (T, error)) (answer T, err error) {
	var got T
	var fault error
	if err := l.through(ctx, "", func() { got, fault = do(context.Background()) }); err != nil {
		return answer, err
	}
	return got, fault
}

// SendHeartbeat implements [protocol.Store].
func (s *store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	_, err := call(ctx, s.link, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.shared.SendHeartbeat(ctx, holder, info, life)
	})
	return err
}

// Members implements [protocol.Store].
func (s *store) Members(ctx context.Context) ([]protocol.Member, error) {
	return call(ctx, s.link, s.shared.Members)
}

// FormerMembers implements [protocol.Store].
func (s *store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	return call(ctx, s.link, s.shared.FormerMembers)
}

// MembersBut implements [protocol.Store].
func (s *store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	return call(ctx, s.link, func(ctx context.Context) ([]protocol.Member, error) { return s.shared.MembersBut(ctx, known) })
}

// Heartbeat implements [protocol.Store].
func (s *store) Heartbeat(ctx context.Context, h protocol.Heartbeat) (protocol.Pulse, error) {
	return call(ctx, s.link, func(ctx context.Context) (protocol.Pulse, error) { return s.shared.Heartbeat(ctx, h) })
}

// PutSet implements [protocol.Store].
func (s *store) PutSet(ctx context.Context, content []byte, life time.Duration) error {
	_, err := call(ctx, s.link, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.shared.PutSet(ctx, content, life)
	})
	return err
}

// KeepSets implements [protocol.Store].
func (s *store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	return call(ctx, s.link, func(ctx context.Context) ([]bool, error) { return s.shared.KeepSets(ctx, digests, life) })
}

// GetSets implements [protocol.Store].
func (s *store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	return call(ctx, s.link, func(ctx context.Context) ([][]byte, error) { return s.shared.GetSets(ctx, digests) })
}

// Publish implements [protocol.Store].
func (s *store) Publish(ctx context.Context, message []byte) error {
	_, err := call(ctx, s.link, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.shared.Publish(ctx, message)
	})
	return err
}

// Subscribe implements [protocol.Store].
func (s *store) Subscribe(ctx context.Context, receive func(message []byte)) error {
	return s.link.listen(ctx, func(ctx context.Context, through func(string) bool) error {
		return s.shared.Subscribe(ctx, func(message []byte) {
			if through(string(message)) {
				receive(message)
			}
		})
	})
}
