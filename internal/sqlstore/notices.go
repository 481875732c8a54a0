package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/lease/driver"
)

const (
	// mostNotices is how many are kept, at least, for subscribers that have not looked yet.
	mostNotices = 4096
	// late is how many notices a subscriber looks back at first, and how many missing ones it looks
	// for at least: numbers are given in another order than transactions end.
	late = 256
	// slowest is for how long it does: transactions last no longer.
	slowest = 10 * time.Second
)

// Notice is what is kept of a notification.
type Notice struct {
	driver.Notification
	Nonce uint32 // distinguishes it from others that say the same
}

// NewNotice returns what is kept of a notification.
func NewNotice(n driver.Notification) Notice { return Notice{n, rand.Uint32()} }

// publish adds notifications to those that subscribers look for.
func (db *database) publish(ctx context.Context, q Querier, list []driver.Notification) error {
	var notices []any
	for _, n := range list {
		text, err := json.Marshal(NewNotice(n))
		if err != nil {
			return err
		}
		notices = append(notices, db.Namespace, "change", text)
	}
	return db.insert(ctx, q, noticeColumns, 3, notices, "")
}

const noticeColumns = "solotick_notice (namespace, kind, body)"

// Subscribe implements [driver.Store].
func (db *database) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	return db.follow(ctx, "change", new(follower), func() { notify(driver.Notification{}) }, func(text []byte) error {
		var n driver.Notification
		if err := json.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("%w: table solotick_notice of %s: %w", driver.ErrRecord, db.Place, err)
		}
		notify(n)
		return nil
	})
}

// Publish implements [driver.Messenger].
func (db *database) Publish(ctx context.Context, message []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return db.call(ctx, func(ctx context.Context) error {
		err := db.insert(ctx, db.DB, noticeColumns, 3, []any{db.Namespace, "message", message}, "")
		if err == nil && db.Notify != "" {
			err = db.exec(ctx, db.DB, db.Notify, db.Namespace)
		}
		if err == nil {
			db.waker.wake()
		}
		return err
	})
}

// Receive implements [driver.Messenger]. When the database was away, it goes on with what was
// published meanwhile.
func (db *database) Receive(ctx context.Context, receive func(message []byte)) error {
	var f follower
	for {
		err := db.follow(ctx, "message", &f, func() {}, func(message []byte) error { receive(message); return nil })
		if ctx.Err() != nil || errors.Is(err, protocol.ErrPermanent) {
			return err
		}
		sleep.For(ctx, lookEvery)
	}
}

// follower is what a subscriber has seen of notices: those up to the newest, but some that are
// missing.
type follower struct {
	gap     bool // some may have been missed
	looked  bool
	newest  int64
	digest  string              // of the newest; another one has its number when a backup was restored
	missing map[int64]time.Time // numbers of transactions that had not ended, or have failed, until when they are looked for
}

// follow calls receive with each notice of a kind that f has not seen. It calls missed first, and
// whenever some may have been missed.
func (db *database) follow(ctx context.Context, kind string, f *follower, missed func(), receive func([]byte) error) error {
	woken, leave := db.join()
	defer leave()
	for {
		var list [][]byte
		var next *follower
		err := db.call(ctx, func(ctx context.Context) (err error) {
			list, next, err = db.noticesAfter(ctx, kind, f)
			return err
		})
		if err != nil {
			return err
		}
		if *f = *next; f.gap {
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

// noticesAfter returns the notices of a kind that f has not seen, and what has been seen then.
func (db *database) noticesAfter(ctx context.Context, kind string, f *follower) (list [][]byte, next *follower, err error) {
	next = &follower{looked: true}
	var oldest int64
	var digest string
	digestOf := ", coalesce((SELECT " + db.Digest + " FROM solotick_notice WHERE seq = "
	err = db.each(ctx, db.DB, "SELECT coalesce(min(seq), 0), coalesce(max(seq), 0)"+digestOf+"?), '')"+digestOf+"(SELECT max(seq) FROM solotick_notice)), '') FROM solotick_notice",
		[]any{f.newest}, []any{&oldest, &next.newest, &digest, &next.digest}, func() error { return nil })
	if err != nil {
		return nil, nil, err
	}
	next.gap = !f.looked || oldest > f.newest+1 || next.newest < f.newest || digest != f.digest
	if next.gap {
		f = &follower{newest: next.newest - late}
	}
	fresh, err := db.arrived(ctx, f, next)
	if err != nil || next.gap {
		return nil, next, err
	}
	for part := range slices.Chunk(fresh, lane.Most) {
		var text []byte
		err := db.each(ctx, db.DB, "SELECT body FROM solotick_notice WHERE namespace = ? AND kind = ? AND seq IN "+listOf(len(part))+" ORDER BY seq",
			append([]any{db.Namespace, kind}, part...), []any{&text}, func() error { list = append(list, slices.Clone(text)); return nil })
		if err != nil {
			return nil, nil, err
		}
	}
	return list, next, nil
}

// arrived returns the numbers of notices that f has not seen, up to the newest of next, and sets
// those that are missing then.
func (db *database) arrived(ctx context.Context, f, next *follower) (numbers []any, err error) {
	next.missing = maps.Clone(f.missing)
	if next.missing == nil {
		next.missing = map[int64]time.Time{}
	}
	for seq := max(f.newest, next.newest-mostNotices) + 1; seq <= next.newest; seq++ {
		next.missing[seq] = time.Now().Add(slowest)
	}
	which, args := "seq > ? AND seq <= ?", []any{f.newest, next.newest}
	if len(f.missing) > 0 {
		which += " OR seq IN " + listOf(len(f.missing))
		for seq := range f.missing {
			args = append(args, seq)
		}
	}
	var seq int64
	err = db.each(ctx, db.DB, "SELECT seq FROM solotick_notice WHERE "+which, args, []any{&seq}, func() error {
		numbers = append(numbers, seq)
		delete(next.missing, seq)
		return nil
	})
	now := time.Now()
	maps.DeleteFunc(next.missing, func(seq int64, until time.Time) bool {
		return now.After(until) || seq <= next.newest-late && len(next.missing) > late
	})
	return numbers, err
}
