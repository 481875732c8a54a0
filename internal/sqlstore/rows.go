package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// row is one of solotick_item. Its item has the entries only that are added.
type row struct {
	driver.Item
	found  bool
	keep   int64 // for how long after it was touched the value is kept, in µs; 0: for ever
	last   int64 // the number of the newest entry
	most   map[string]int
	broken error // it cannot be read

	changed, removed bool
	stamp            int64          // before
	made             *driver.Change // the last one
}

// lease is one in the column leases.
type lease struct {
	Token   int64  `json:"token"`
	Holder  string `json:"holder"`
	Ends    int64  `json:"ends"` // in µs
	Stopped bool   `json:"stopped,omitempty"`
}

// Leases reads the column leases.
func Leases(text []byte) ([]driver.Lease, error) {
	var list []lease
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	var leases []driver.Lease
	for _, l := range list {
		leases = append(leases, driver.Lease{Token: l.Token, Holder: l.Holder, Ends: time.UnixMicro(l.Ends).UTC(), Stopped: l.Stopped})
	}
	return leases, nil
}

// Unreadable is the result of an operation on a row whose leases cannot be read.
func Unreadable(key string, err error) driver.Result {
	return driver.Result{Err: fmt.Errorf("%w: leases of %s in table solotick_item: %w", driver.ErrRecord, key, err)}
}

func encodeLeases(leases []driver.Lease) ([]byte, error) {
	list := []lease{}
	for _, l := range leases {
		list = append(list, lease{l.Token, l.Holder, Ceil(l.Ends), l.Stopped})
	}
	return json.Marshal(list)
}

// Ceil returns t in µs, rounded up.
func Ceil(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// rows reads the rows of the keys of ops. If lock is set, it locks them in the order of their keys,
// and the time is one at which all are locked. Otherwise the time is one before they were read, but in
// a transaction of the caller, which may have begun long ago.
func (db *database) rows(ctx context.Context, q Querier, ops []driver.Op, lock bool) (rows map[string]*row, now time.Time, err error) {
	rows = make(map[string]*row, len(ops))
	for _, op := range ops {
		rows[op.Key] = &row{}
	}
	args := []any{db.Namespace}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		args = append(args, key)
	}
	clock, order := "began", ""
	if lock { // the last row tells the latest time
		clock, order = db.Now, " ORDER BY item_key FOR UPDATE"
	} else if db.tx != nil {
		clock = db.Now
	}
	var key string
	var leases []byte
	var at, newest int64
	var r row
	to := []any{&key, &r.Value.Version.Stamp, &r.Value.Version.ID, &r.Value.Data, &leases, &r.keep, &r.last, &at}
	err = db.each(ctx, q, "SELECT coalesce(item_key, ''), coalesce(stamp, 0), coalesce(id, ''), data, leases, coalesce(keep, 0), coalesce(last, 0), "+clock+
		" FROM (SELECT "+db.Began+" AS began) clock LEFT JOIN solotick_item ON namespace = ? AND item_key IN "+listOf(len(rows))+order, args, to, func() error {
		if newest = max(newest, at); key == "" {
			return nil
		}
		next := r
		next.found, next.stamp = true, r.Value.Version.Stamp
		next.Value.Data = bytesOf(r.Value.Data, next.stamp)
		if next.Value.Leases, next.broken = Leases(leases); next.broken != nil {
			next.broken = Unreadable(key, next.broken).Err
		}
		*rows[key] = next
		return nil
	})
	return rows, time.UnixMicro(newest).UTC(), err
}

func bytesOf(data []byte, stamp int64) []byte {
	if stamp == 0 {
		return nil
	}
	return append([]byte{}, data...)
}

// change carries out operations in a transaction, in which it locks what they name.
func (db *database) change(ctx context.Context, tx *sql.Tx, ops []driver.Op) (results []driver.Result, err error) {
	rows, now, err := db.rows(ctx, tx, ops, true)
	if err != nil {
		return nil, err
	}
	var notify []driver.Notification
	for _, op := range ops {
		var res driver.Result
		switch r := rows[op.Key]; {
		case r.broken != nil:
			res.Err = r.broken
		case op.Newest > 0: // of entries that were added before
			if err = db.write(ctx, tx, rows, now); err == nil {
				res = driver.Result{Status: driver.Done, Now: now}
				res.List, err = db.newest(ctx, tx, op)
			}
		default:
			var published []driver.Notification
			res, published, err = db.decide(ctx, tx, r, op, now)
			notify = append(notify, published...)
		}
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	if err := db.write(ctx, tx, rows, now); err != nil {
		return nil, err
	}
	return results, db.publish(ctx, tx, notify)
}

// decide carries out an operation on a row.
func (db *database) decide(ctx context.Context, tx *sql.Tx, r *row, op driver.Op, now time.Time) (driver.Result, []driver.Notification, error) {
	if c := op.Change; c != nil && r.Value.Version.Stamp == 0 && c.Data != nil {
		made := *c
		floor := int64(0)
		if _, err := db.one(ctx, tx, "SELECT floor FROM solotick_store WHERE one = 1", &floor); err != nil {
			return driver.Result{}, nil, err
		}
		made.MinStamp = max(c.MinStamp, floor+1, r.stamp+1)
		op.Change = &made
	}
	res, changed := r.Do(op, now)
	if !changed {
		return res, nil, nil
	}
	r.changed, r.stamp = true, max(r.stamp, res.Version.Stamp)
	entries := op.Append
	var notify []driver.Notification
	if c := op.Change; c != nil {
		entries, notify, r.keep, r.made = c.Append, c.Notify, c.Keep.Microseconds(), c
		if c.Data == nil {
			r.removed, r.keep = true, 0
		}
	}
	if r.most == nil {
		r.most = make(map[string]int)
	}
	for _, e := range entries {
		r.most[e.ID] = max(e.Max, 1)
	}
	return res, notify, nil
}

// write writes rows that have changed and entries that were added. It inserts all new rows by one
// statement, updates the others by another one, and inserts the entries by a third.
func (db *database) write(ctx context.Context, tx *sql.Tx, rows map[string]*row, now time.Time) error {
	var entries, made, changed, due []any
	left := map[string]int{} // how many entries of a list stay; 0 if it is not cut
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		r := rows[key]
		if !r.changed {
			continue
		}
		if r.removed {
			if !r.found { // nobody else may make it before this is over, and lose it
				nothing := []any{db.Namespace, key, 0, "", []byte{}, "[]", 0, 0, 0}
				if err := db.insert(ctx, tx, item, 9, nothing, ""); err != nil {
					return err
				}
			}
			if err := db.remove(ctx, tx, db.Namespace, key, r.stamp); err != nil {
				return err
			}
			r.found, r.last = false, 0
		}
		if job, _, ok := driver.CutKey(key); ok && r.made != nil {
			if at := r.made.DueMilli(); at > 0 {
				due = append(due, db.Namespace, key, job, driver.ShareOf(key), at)
			} else if err := db.exec(ctx, tx, removeDue, db.Namespace, key); err != nil {
				return err
			}
		}
		added, most, err := db.added(ctx, tx, key, r)
		if err != nil {
			return err
		}
		entries, left[key] = append(entries, added...), most
		if r.removed && r.Empty() {
			*r = row{stamp: r.stamp}
			continue
		}
		leases, err := encodeLeases(r.Value.Leases)
		if err != nil {
			return err
		}
		expires := int64(0)
		if r.keep > 0 {
			expires = now.UnixMicro() + r.keep
		}
		to := &changed
		if !r.found { // if somebody else inserts it first, this fails, and the batch is decided again
			to = &made
		}
		*to = append(*to, db.Namespace, key, r.Value.Version.Stamp, r.Value.Version.ID, orEmpty(r.Value.Data), string(leases), r.keep, expires, r.last)
		r.found, r.changed, r.removed, r.List, r.made = true, false, false, nil, nil
	}
	err := db.insert(ctx, tx, item, 9, made, "")
	if err == nil {
		err = db.insert(ctx, tx, item, 9, changed, " ON DUPLICATE KEY UPDATE stamp = VALUES(stamp), id = VALUES(id), data = VALUES(data),"+
			" leases = VALUES(leases), keep = VALUES(keep), expires = VALUES(expires), last = VALUES(last)")
	}
	if err == nil { // an entry that is there already stays
		err = db.insert(ctx, tx, "solotick_entry (namespace, item_key, seq, id, body, made)", 6, entries, " ON DUPLICATE KEY UPDATE made = solotick_entry.made")
	}
	if err == nil {
		err = db.insert(ctx, tx, "solotick_due (namespace, item_key, job, share, due)", 5, due, " ON DUPLICATE KEY UPDATE due = VALUES(due)")
	}
	for key, most := range left {
		if err == nil && most > 0 {
			err = db.exec(ctx, tx, "DELETE FROM solotick_entry WHERE namespace = ? AND item_key = ? AND seq < "+
				"(SELECT seq FROM (SELECT seq FROM solotick_entry WHERE namespace = ? AND item_key = ? ORDER BY seq DESC LIMIT 1 OFFSET ?) oldest)",
				db.Namespace, key, db.Namespace, key, most-1)
		}
	}
	return err
}

const item = "solotick_item (namespace, item_key, stamp, id, data, leases, keep, expires, last)"

// insert inserts rows of so many columns, if there are any.
func (db *database) insert(ctx context.Context, q Querier, into string, columns int, args []any, or string) error {
	if len(args) == 0 {
		return nil
	}
	return db.exec(ctx, q, "INSERT INTO "+into+" VALUES "+listOf(columns)+strings.Repeat(", "+listOf(columns), len(args)/columns-1)+or, args...)
}

func orEmpty(data []byte) []byte { return append([]byte{}, data...) }

const removeDue = "DELETE FROM solotick_due WHERE namespace = ? AND item_key = ?"

// remove removes a row with its list. Stamps of values that are made later lie above that one.
func (db *database) remove(ctx context.Context, tx *sql.Tx, namespace, key string, stamp int64) error {
	for _, query := range []string{"DELETE FROM solotick_item WHERE namespace = ? AND item_key = ?", "DELETE FROM solotick_entry WHERE namespace = ? AND item_key = ?"} {
		if err := db.exec(ctx, tx, query, namespace, key); err != nil {
			return err
		}
	}
	return db.exec(ctx, tx, "UPDATE solotick_store SET floor = greatest(floor, ?) WHERE one = 1", stamp)
}

// added returns the rows of solotick_entry that hold the new entries of a row. If the list must be
// cut once they are inserted, most is how many entries stay. A list grows by an eighth before it is
// cut.
func (db *database) added(ctx context.Context, tx *sql.Tx, key string, r *row) (entries []any, most int, err error) {
	if len(r.List) > 0 && !r.found { // somebody may have removed the row alone
		err = db.each(ctx, tx, "SELECT coalesce(max(seq), 0) FROM solotick_entry WHERE namespace = ? AND item_key = ?", []any{db.Namespace, key}, []any{&r.last},
			func() error { return nil })
	}
	for _, e := range r.List {
		r.last++
		entries = append(entries, db.Namespace, key, r.last, e.ID, orEmpty(e.Text), e.At.UnixMicro())
		if r.last%int64(1+r.most[e.ID]/8) == 0 {
			most = r.most[e.ID]
		}
	}
	return entries, most, err
}

func (db *database) newest(ctx context.Context, q Querier, op driver.Op) (list []driver.Entry, err error) {
	var e driver.Entry
	at := int64(0)
	err = db.each(ctx, q, "SELECT id, body, made FROM solotick_entry WHERE namespace = ? AND item_key = ? ORDER BY seq DESC LIMIT ?",
		[]any{db.Namespace, op.Key, op.Newest}, []any{&e.ID, &e.Text, &at}, func() error {
			list = append(list, driver.Entry{ID: e.ID, Text: slices.Clone(e.Text), At: time.UnixMicro(at).UTC()})
			return nil
		})
	return list, err
}
