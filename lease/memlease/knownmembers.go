package memlease

import (
	"context"

	"github.com/solotick/solotick/internal/protocol"
)

// MembersBut implements [protocol.KnownMembers].
func (s *Store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	list, err := s.Members(ctx)
	leaveOutKnown(list, known)
	return list, err
}

func leaveOutKnown(list []protocol.Member, known map[string]string) {
	for i := range list {
		m := &list[i]
		if m.Known = known[m.Holder] == protocol.InfoDigest(m.Info); m.Known {
			m.Info = nil
		}
	}
}
