package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

const (
	// mostNotices is how many are kept, at least, for subscribers that have not looked yet.
	mostNotices = 4096
	// late is how many notices a subscriber looks back: numbers are given in another order than
	// transactions end.
	late = 64
)

// publish adds notifications to those that subscribers look for.
func (db *database) publish(ctx context.Context, q querier, list []driver.Notification) error {
	for _, n := range list {
		text, err := json.Marshal(n)
		if err == nil {
			err = db.notice(ctx, q, "change", text)
		}
		if err != nil {
			return err
		}
	}
	if len(list) == 0 || db.Notify == "" {
		return nil
	}
	_, err := db.exec(ctx, q, db.Notify, db.Namespace)
	return err
}

func (db *database) notice(ctx context.Context, q querier, kind string, text []byte) error {
	_, err := db.exec(ctx, q, "INSERT INTO solotick_notice (namespace, kind, body) VALUES (?, ?, ?)", db.Namespace, kind, text)
	return err
}

// Subscribe implements [driver.Store].
func (db *database) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return db.follow(ctx, "change", func() { notify(driver.Notification{}) }, func(text []byte) error {
		var n driver.Notification
		if err := json.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("%w: table solotick_notice of %s: %w", driver.ErrRecord, db.Place, err)
		}
		notify(n)
		return nil
	})
}

// Publish implements [protocol.Publisher].
func (s *Store) Publish(ctx context.Context, message []byte) error {
	if err := cmp.Or(protocol.CheckMessage(message), context.Cause(ctx)); err != nil {
		return err
	}
	db := s.db
	return db.call(ctx, func(ctx context.Context) error {
		err := db.notice(ctx, db.DB, "message", message)
		if err == nil && db.Notify != "" {
			_, err = db.exec(ctx, db.DB, db.Notify, db.Namespace)
		}
		if err == nil {
			db.waker.wake()
		}
		return err
	})
}

// Subscribe implements [protocol.Publisher].
func (s *Store) Subscribe(ctx context.Context, receive func(message []byte)) error {
	return s.db.follow(ctx, "message", func() {}, func(message []byte) error { receive(message); return nil })
}

// seen are the notices that a subscriber has seen: all up to newest-late, and some after that.
type seen struct {
	newest  int64
	numbers map[int64]bool
}

// follow calls receive with each notice of a kind, and missed when it may have missed some, first
// when it looks for them.
func (db *database) follow(ctx context.Context, kind string, missed func(), receive func([]byte) error) error {
	woken, leave := db.join()
	defer leave()
	var s *seen
	for {
		var list [][]byte
		gap := s == nil
		err := db.call(ctx, func(ctx context.Context) (err error) {
			var lost bool
			list, s, lost, err = db.noticesAfter(ctx, kind, s)
			gap = gap || lost
			return err
		})
		if err != nil {
			return err
		}
		if gap {
			missed()
		}
		for _, text := range list {
			if err := receive(text); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-woken:
		case <-time.After(wokenEvery):
		}
	}
}

// noticesAfter returns the notices of a kind that s has not seen, what has been seen then, and
// whether some may have been missed.
func (db *database) noticesAfter(ctx context.Context, kind string, s *seen) (list [][]byte, next *seen, lost bool, err error) {
	var oldest, newest int64
	if _, err := db.one(ctx, db.DB, "SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM solotick_notice", &oldest, &newest); err != nil {
		return nil, s, false, err
	}
	next = &seen{newest: newest, numbers: map[int64]bool{}}
	lost = s != nil && (oldest > s.newest+1 || newest < s.newest)
	after := newest - late
	if s != nil && !lost {
		after = min(after, s.newest-late)
	}
	var fresh []any
	var seq int64
	err = db.each(ctx, db.DB, "SELECT seq FROM solotick_notice WHERE seq > ? ORDER BY seq", []any{after}, []any{&seq}, func() error {
		next.newest = max(next.newest, seq)
		if next.numbers[seq] = true; s != nil && !lost && !s.numbers[seq] {
			fresh = append(fresh, seq)
		}
		return nil
	})
	for part := range slices.Chunk(fresh, most) {
		if err != nil {
			break
		}
		var text []byte
		err = db.each(ctx, db.DB, "SELECT body FROM solotick_notice WHERE namespace = ? AND kind = ? AND seq IN "+listOf(len(part))+" ORDER BY seq",
			append([]any{db.Namespace, kind}, part...), []any{&text}, func() error { list = append(list, slices.Clone(text)); return nil })
	}
	if err != nil {
		return nil, s, false, err
	}
	return list, next, lost, nil
}
