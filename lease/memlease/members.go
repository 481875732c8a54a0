package memlease

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// member is one who takes part, or did.
type member struct {
	info  []byte
	heard time.Time
	ends  time.Time // of its life
}

// SendHeartbeat implements [protocol.Membership].
func (s *Store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := cmp.Or(protocol.CheckMember(holder, info), context.Cause(ctx)); err != nil {
		return err
	}
	now, _, err := s.Memory().Time(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if life <= 0 {
		if m, ok := s.members[holder]; ok && m.ends.After(now) {
			s.members[holder] = member{info: m.info, heard: now, ends: now}
		}
		return nil
	}
	if s.members == nil {
		s.members = make(map[string]member)
	}
	s.members[holder] = member{info: slices.Clone(info), heard: now, ends: now.Add(life)}
	return nil
}

// Members implements [protocol.Membership].
func (s *Store) Members(ctx context.Context) ([]protocol.Member, error) {
	list, err := s.membersWhere(ctx, func(m member, now time.Time) bool { return m.ends.After(now) })
	slices.SortFunc(list, func(a, b protocol.Member) int { return cmp.Compare(a.Holder, b.Holder) })
	return list, err
}

// FormerMembers implements [protocol.MemberHistory].
func (s *Store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	list, err := s.membersWhere(ctx, func(m member, now time.Time) bool { return !m.ends.After(now) })
	slices.SortFunc(list, func(a, b protocol.Member) int {
		return cmp.Or(b.LastHeartbeat.Compare(a.LastHeartbeat), cmp.Compare(a.Holder, b.Holder))
	})
	return list[:min(len(list), protocol.MaxFormer)], err
}

func (s *Store) membersWhere(ctx context.Context, wanted func(m member, now time.Time) bool) ([]protocol.Member, error) {
	now, _, err := s.Memory().Time(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.members, func(_ string, m member) bool { return !m.ends.Add(protocol.FormerFor).After(now) })
	var list []protocol.Member
	for holder, m := range s.members {
		if wanted(m, now) {
			list = append(list, protocol.Member{
				Holder: holder, Info: slices.Clone(m.info), Remaining: max(0, m.ends.Sub(now)), LastHeartbeat: m.heard.UTC().Truncate(time.Microsecond),
			})
		}
	}
	return list, nil
}
