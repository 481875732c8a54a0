package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

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
		var newest int64
		if _, err := db.one(ctx, db.DB, "SELECT coalesce(max(seq), 0) FROM solotick_notice", &newest); err != nil {
			return err
		}
		if err := db.exec(ctx, db.DB, "DELETE FROM solotick_notice WHERE seq <= ?", newest-mostNotices); err != nil {
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
		if _, _, ok := driver.CutKey(e.key); err == nil && ok {
			err = db.exec(ctx, tx, removeDue, e.namespace, e.key)
		}
	}
	return err
}
