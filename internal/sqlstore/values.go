package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/lease/driver"
)

// Do implements [driver.Store].
func (db *database) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	if len(ops) == 0 {
		return nil
	}
	if db.tx != nil {
		var results []driver.Result
		err := db.call(ctx, func(ctx context.Context) (err error) {
			results, err = db.carryOut(ctx, ops)
			return err
		})
		if err != nil {
			results = slices.Repeat([]driver.Result{{Err: err}}, len(ops))
		}
		return results
	}
	calls := db.reads
	if slices.ContainsFunc(ops, Writes) {
		calls = db.writes
	}
	ctx, cancel := context.WithTimeoutCause(ctx, db.Timeout, errTimeout)
	defer cancel()
	results, err := calls.Do(ctx, slices.Clone(ops))
	if err != nil {
		results = slices.Repeat([]driver.Result{{Err: db.failed(err)}}, len(ops))
	}
	return results
}

// lane returns one that sends calls in transactions, so many at once.
func (db *database) lane(atOnce int) *lane.Lane[[]driver.Op, []driver.Result] {
	type call = lane.Call[[]driver.Op, []driver.Result]
	return &lane.Lane[[]driver.Op, []driver.Result]{
		AtOnce: atOnce, Split: true, Idle: db.sweep,
		Fits: func(batch []*call, next *call) bool {
			n := len(next.Request)
			for _, c := range batch {
				n += len(c.Request)
			}
			return n <= lane.Most
		},
		Send: func(batch []*call) error {
			var ops []driver.Op
			for _, c := range batch {
				ops = append(ops, c.Request...)
			}
			return db.repeat(context.Background(), func(ctx context.Context) error {
				results, err := db.carryOut(ctx, ops)
				for i := 0; i < len(batch) && err == nil; i++ {
					n := len(batch[i].Request)
					batch[i].Answer, results = results[:n:n], results[n:]
				}
				return err
			})
		},
	}
}

// Writes reports whether an operation may change something.
func Writes(op driver.Op) bool { return op.Change != nil || op.Renew != nil || len(op.Append) > 0 }

// carryOut carries out operations, in one transaction where one of them changes something.
func (db *database) carryOut(ctx context.Context, ops []driver.Op) (results []driver.Result, err error) {
	if !slices.ContainsFunc(ops, Writes) {
		return db.read(ctx, ops)
	}
	switch {
	case db.Dialect.Do != nil:
		results, err = db.Dialect.Do(ctx, db.from(), db.Namespace, ops)
	case db.tx != nil:
		return db.change(ctx, db.tx, ops)
	default:
		err = db.within(ctx, func(tx *sql.Tx) error {
			results, err = db.change(ctx, tx, ops)
			return err
		})
	}
	if err == nil && db.tx == nil && slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Change != nil && len(op.Change.Notify) > 0 }) {
		db.waker.wake()
	}
	return results, err
}

// read carries out operations that change nothing.
func (db *database) read(ctx context.Context, ops []driver.Op) (results []driver.Result, err error) {
	rows, now, err := db.rows(ctx, db.from(), ops, false)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		var res driver.Result
		if r := rows[op.Key]; op.Newest > 0 {
			res = driver.Result{Status: driver.Done, Now: now}
			res.List, err = db.newest(ctx, db.from(), op)
		} else if res, _ = r.Do(op, now); r.broken != nil {
			res = driver.Result{Err: r.broken}
		}
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	return results, nil
}

// Scan implements [driver.Store]. The cursor is the key that was listed last.
func (db *database) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	count = max(count, 1)
	err = db.call(ctx, func(ctx context.Context) error {
		keys = nil
		key := ""
		return db.each(ctx, db.from(), "SELECT item_key FROM solotick_item WHERE namespace = ? AND item_key > ? AND item_key >= ? AND item_key < ? AND stamp > 0 ORDER BY item_key LIMIT ?",
			[]any{db.Namespace, cursor, prefix, prefix + "~", count}, []any{&key}, func() error { keys = append(keys, strings.Clone(key)); return nil })
	})
	if err != nil {
		return nil, "", err
	}
	if len(keys) == count {
		next = keys[count-1]
	}
	return keys, next, nil
}

// Due implements [driver.Index].
func (db *database) Due(ctx context.Context, job string, shares []int, until time.Time, count int) (list []driver.DueKey, err error) {
	if len(shares) == 0 || count < 1 {
		return nil, nil
	}
	query, args := db.Dialect.Due, []any{shares, db.Namespace, job, until.UnixMilli(), count}
	if query == "" {
		const one = "(SELECT item_key, due FROM solotick_due WHERE namespace = ? AND job = ? AND share = ? AND due <= ? ORDER BY due LIMIT ?)"
		query, args = one+strings.Repeat(" UNION ALL "+one, len(shares)-1), nil
		for _, share := range shares {
			args = append(args, db.Namespace, job, share, until.UnixMilli(), count)
		}
	}
	err = db.call(ctx, func(ctx context.Context) error {
		list = nil
		key, due := "", int64(0)
		return db.each(ctx, db.from(), query, args, []any{&key, &due}, func() error {
			list = append(list, driver.DueKey{Key: strings.Clone(key), At: time.UnixMilli(due).UTC()})
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, driver.DueKey.Compare)
	return list, nil
}

// Time implements [driver.Store].
func (db *database) Time(ctx context.Context) (now, since time.Time, err error) {
	var clock, began int64
	err = db.call(ctx, func(ctx context.Context) error {
		found, err := db.one(ctx, db.from(), "SELECT since, "+db.Now+" FROM solotick_store WHERE one = 1", &began, &clock)
		if err == nil && !found {
			err = errEmptied
		}
		return err
	})
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	return time.UnixMicro(clock).UTC(), time.UnixMicro(began).UTC(), nil
}
