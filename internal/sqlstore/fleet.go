package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// SendHeartbeat implements [protocol.Membership].
func (s *Store) SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error {
	if err := cmp.Or(protocol.CheckMember(holder, info), context.Cause(ctx)); err != nil {
		return err
	}
	db := s.db
	return db.call(ctx, func(ctx context.Context) error {
		if life <= 0 {
			_, err := db.exec(ctx, db.DB, "UPDATE solotick_member SET heartbeat = "+db.Now+", ends = heartbeat WHERE namespace = ? AND holder = ? AND ends > "+db.Now,
				db.Namespace, holder)
			return err
		}
		return db.put(ctx, "UPDATE solotick_member SET info = ?, heartbeat = "+db.Now+", ends = "+db.Now+" + ? WHERE namespace = ? AND holder = ?",
			"INSERT INTO solotick_member (info, heartbeat, ends, namespace, holder) VALUES (?, "+db.Now+", "+db.Now+" + ?, ?, ?)",
			orEmpty(info), life.Microseconds(), db.Namespace, holder)
	})
}

// put updates a row, or inserts it when there is none.
func (db *database) put(ctx context.Context, update, insert string, args ...any) error {
	n, err := db.exec(ctx, db.DB, update, args...)
	if err == nil && n == 0 {
		_, err = db.exec(ctx, db.DB, insert, args...)
	}
	return err
}

// Members implements [protocol.Membership].
func (s *Store) Members(ctx context.Context) ([]protocol.Member, error) {
	return s.MembersBut(ctx, nil)
}

// MembersBut implements [protocol.KnownMembers].
func (s *Store) MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error) {
	list, err := s.members(ctx, "ends > "+s.db.Began+" ORDER BY holder")
	for i := range list {
		if m := &list[i]; known[m.Holder] == protocol.InfoDigest(m.Info) {
			m.Known, m.Info = true, nil
		}
	}
	return list, err
}

// FormerMembers implements [protocol.MemberHistory].
func (s *Store) FormerMembers(ctx context.Context) ([]protocol.Member, error) {
	return s.members(ctx, "ends <= "+s.db.Began+" AND ends > "+s.db.Began+" - ? ORDER BY heartbeat DESC, holder LIMIT ?",
		protocol.FormerFor.Microseconds(), protocol.MaxFormer)
}

func (s *Store) members(ctx context.Context, which string, args ...any) (list []protocol.Member, err error) {
	db := s.db
	err = db.call(ctx, func(ctx context.Context) error {
		list = nil
		var m protocol.Member
		var heartbeat, remaining int64
		return db.each(ctx, db.DB, "SELECT holder, info, heartbeat, ends - "+db.Began+" FROM solotick_member WHERE namespace = ? AND "+which,
			append([]any{db.Namespace}, args...), []any{&m.Holder, &m.Info, &heartbeat, &remaining}, func() error {
				m := m
				m.Info, m.LastHeartbeat = bytes.Clone(m.Info), time.UnixMicro(heartbeat).UTC()
				m.Remaining = time.Duration(max(0, remaining)) * time.Microsecond
				list = append(list, m)
				return nil
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
	db := s.db
	return db.call(ctx, func(ctx context.Context) error {
		return db.put(ctx, "UPDATE solotick_set SET content = ?, ends = "+db.Now+" + ? WHERE namespace = ? AND digest = ?",
			"INSERT INTO solotick_set (content, ends, namespace, digest) VALUES (?, "+db.Now+" + ?, ?, ?)",
			set, life.Microseconds(), db.Namespace, protocol.SetDigest(set))
	})
}

// KeepSets implements [protocol.Sets].
func (s *Store) KeepSets(ctx context.Context, digests []string, life time.Duration) (kept []bool, err error) {
	if err := protocol.CheckDigests(digests, life); err != nil {
		return nil, err
	}
	db := s.db
	err = db.call(ctx, func(ctx context.Context) error {
		kept = make([]bool, len(digests))
		for i, d := range digests {
			n, err := db.exec(ctx, db.DB, "UPDATE solotick_set SET ends = "+db.Now+" + ? WHERE namespace = ? AND digest = ? AND ends > "+db.Now,
				life.Microseconds(), db.Namespace, d)
			if err != nil {
				return err
			}
			kept[i] = n > 0
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// GetSets implements [protocol.Sets].
func (s *Store) GetSets(ctx context.Context, digests []string) (sets [][]byte, err error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil || len(digests) == 0 {
		return nil, err
	}
	db := s.db
	err = db.call(ctx, func(ctx context.Context) error {
		sets = make([][]byte, len(digests))
		args := []any{db.Namespace}
		for _, d := range digests {
			args = append(args, d)
		}
		var digest string
		var content []byte
		return db.each(ctx, db.DB, "SELECT digest, content FROM solotick_set WHERE namespace = ? AND ends > "+db.Began+" AND digest IN "+listOf(len(digests)),
			args, []any{&digest, &content}, func() error {
				for i, d := range digests {
					if d == digest {
						sets[i] = bytes.Clone(content)
					}
				}
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	return sets, nil
}

// sweep removes what has ended, now and then. What fails is repeated by the next sweep.
func (db *database) sweep() {
	db.mu.Lock()
	due := time.Since(db.swept) > sweepEvery
	if due {
		db.swept = time.Now()
	}
	db.mu.Unlock()
	if !due {
		return
	}
	_ = db.repeat(context.Background(), func(ctx context.Context) error {
		if _, err := db.exec(ctx, db.DB, "DELETE FROM solotick_member WHERE ends <= "+db.Now+" - ?", protocol.FormerFor.Microseconds()); err != nil {
			return err
		}
		if _, err := db.exec(ctx, db.DB, "DELETE FROM solotick_set WHERE ends <= "+db.Now); err != nil {
			return err
		}
		var newest int64
		if _, err := db.one(ctx, db.DB, "SELECT coalesce(max(seq), 0) FROM solotick_notice", &newest); err != nil {
			return err
		}
		if _, err := db.exec(ctx, db.DB, "DELETE FROM solotick_notice WHERE seq <= ?", newest-mostNotices); err != nil {
			return err
		}
		return db.within(ctx, func(tx *sql.Tx) error { return db.expire(ctx, tx) })
	})
}

const (
	sweepEvery = 10 * time.Second
	// mostExpired is how many values a sweep removes.
	mostExpired = 256
)

// expire removes values that nobody has touched for as long as they are kept.
func (db *database) expire(ctx context.Context, tx *sql.Tx) error {
	type expired struct {
		namespace, key string
		stamp          int64
	}
	var all []expired
	var e expired
	err := db.each(ctx, tx, "SELECT namespace, item_key, stamp FROM solotick_item WHERE expires > 0 AND expires < "+db.Now+" ORDER BY namespace, item_key LIMIT ? FOR UPDATE SKIP LOCKED",
		[]any{mostExpired}, []any{&e.namespace, &e.key, &e.stamp}, func() error { all = append(all, e); return nil })
	for _, e := range all {
		if err == nil {
			err = db.remove(ctx, tx, e.namespace, e.key, e.stamp)
		}
	}
	return err
}
