package sqlitelease

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// SendHeartbeat implements [protocol.Membership].
func (s *Store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := cmp.Or(protocol.CheckMember(holder, info), context.Cause(ctx)); err != nil {
		return err
	}
	info = orEmpty(info)
	return s.values.writes.do(ctx, func(t *tx) error {
		now := t.now.UnixMicro()
		if life <= 0 {
			return t.exec("UPDATE member SET heartbeat = ?1, ends = ?1 WHERE namespace = ?2 AND holder = ?3 AND ends > ?1", now, s.values.namespace, holder)
		}
		if err := t.exec("DELETE FROM member WHERE ends <= ?", now-protocol.FormerFor.Microseconds()); err != nil {
			return err
		}
		return t.exec("INSERT OR REPLACE INTO member VALUES (?, ?, ?, ?, ?)", s.values.namespace, holder, info, now, now+life.Microseconds())
	})
}

// Members implements [protocol.Membership].
func (s *Store) Members(ctx context.Context) ([]protocol.Member, error) {
	return s.MembersBut(ctx, nil)
}

// MembersBut implements [protocol.KnownMembers].
func (s *Store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	list, err := s.members(ctx, "ends > ?2 ORDER BY holder", 0)
	for i := range list {
		if m := &list[i]; known[m.Holder] == protocol.InfoDigest(m.Info) {
			m.Known, m.Info = true, nil
		}
	}
	return list, err
}

// FormerMembers implements [protocol.MemberHistory].
func (s *Store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	return s.members(ctx, "ends <= ?2 AND ends > ?2 - ?3 ORDER BY heartbeat DESC, holder LIMIT ?4", protocol.FormerFor, protocol.MaxFormer)
}

func (s *Store) members(ctx context.Context, which string, args ...any) ([]protocol.Member, error) {
	var list []protocol.Member
	err := s.values.reads.do(ctx, func(t *tx) error {
		list = nil
		var m protocol.Member
		var heartbeat, ends int64
		bound := []any{s.values.namespace, t.now.UnixMicro()}
		for _, a := range args {
			if d, ok := a.(time.Duration); ok {
				a = d.Microseconds()
			}
			bound = append(bound, a)
		}
		return t.each("SELECT holder, info, heartbeat, ends FROM member WHERE namespace = ?1 AND "+which, bound,
			[]any{&m.Holder, &m.Info, &heartbeat, &ends}, func() {
				m := m
				m.Info, m.LastHeartbeat = bytes.Clone(m.Info), time.UnixMicro(heartbeat).UTC()
				m.Remaining = max(0, time.UnixMicro(ends).Sub(t.now))
				list = append(list, m)
			})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// PutSet implements [protocol.Sets].
func (s *Store) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if err := protocol.CheckSet(set, life); err != nil {
		return err
	}
	set = bytes.Clone(set)
	return s.values.writes.do(ctx, func(t *tx) error {
		if err := t.exec("DELETE FROM kept_set WHERE ends <= ?", t.now.UnixMicro()); err != nil {
			return err
		}
		return t.exec("INSERT OR REPLACE INTO kept_set VALUES (?, ?, ?, ?)", s.values.namespace, protocol.SetDigest(set), set, t.now.Add(life).UnixMicro())
	})
}

// KeepSets implements [protocol.Sets].
func (s *Store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil {
		return nil, err
	}
	digests = append([]string(nil), digests...)
	var kept []bool
	err := s.values.writes.do(ctx, func(t *tx) error {
		kept = make([]bool, len(digests))
		for i, d := range digests {
			var err error
			kept[i], err = t.one("UPDATE kept_set SET ends = ?3 WHERE namespace = ?1 AND digest = ?2 AND ends > ?4 RETURNING 1",
				[]any{s.values.namespace, d, t.now.Add(life).UnixMicro(), t.now.UnixMicro()}, new(int))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// GetSets implements [protocol.Sets].
func (s *Store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil {
		return nil, err
	}
	digests = append([]string(nil), digests...)
	var sets [][]byte
	err := s.values.reads.do(ctx, func(t *tx) error {
		sets = make([][]byte, len(digests))
		for i, d := range digests {
			_, err := t.one("SELECT content FROM kept_set WHERE namespace = ? AND digest = ? AND ends > ?",
				[]any{s.values.namespace, d, t.now.UnixMicro()}, &sets[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sets, nil
}
