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

	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/lease/driver"
)

// Do implements [driver.Store].
func (db *database) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	if len(ops) == 0 {
		return nil
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
	if db.Dialect.Do != nil {
		results, err = db.Dialect.Do(ctx, db.DB, db.Namespace, ops)
	} else {
		err = db.within(ctx, func(tx *sql.Tx) error {
			results, err = db.change(ctx, tx, ops)
			return err
		})
	}
	if err == nil && slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Change != nil && len(op.Change.Notify) > 0 }) {
		db.waker.wake()
	}
	return results, err
}

// row is one of solotick_item. Its item has the entries only that are added.
type row struct {
	driver.Item
	found  bool
	keep   int64 // for how long after it was touched the value is kept, in µs; 0: for ever
	last   int64 // the number of the newest entry
	most   map[string]int
	broken error // it cannot be read

	changed, removed bool
	stamp            int64 // before
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

// rows reads the rows of the keys of ops, and locks them in the order of their keys if lock says so.
// Then the time is one at which they are locked, otherwise one before they were read.
func (db *database) rows(ctx context.Context, q querier, ops []driver.Op, lock bool) (rows map[string]*row, now time.Time, err error) {
	keys := make([]string, 0, len(ops))
	for _, op := range ops {
		keys = append(keys, op.Key)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	args := []any{db.Namespace}
	rows = make(map[string]*row, len(keys))
	for _, key := range keys {
		args = append(args, key)
		rows[key] = &row{}
	}
	const columns = "coalesce(item_key, ''), coalesce(stamp, 0), coalesce(id, ''), data, leases, coalesce(keep, 0), coalesce(last, 0)"
	query := "SELECT " + columns + ", 0 FROM solotick_item WHERE namespace = ? AND item_key IN " + listOf(len(keys)) + " ORDER BY item_key FOR UPDATE"
	if !lock { // the time is no later than the values
		query = "SELECT " + columns + ", began FROM (SELECT " + db.Began + " AS began) clock LEFT JOIN solotick_item ON namespace = ? AND item_key IN " + listOf(len(keys))
	}
	var key string
	var leases []byte
	var at int64
	var r row
	to := []any{&key, &r.Value.Version.Stamp, &r.Value.Version.ID, &r.Value.Data, &leases, &r.keep, &r.last, &at}
	err = db.each(ctx, q, query, args, to, func() error {
		if key == "" {
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
	if err == nil && lock {
		_, err = db.one(ctx, q, "SELECT "+db.Now, &at)
	}
	return rows, time.UnixMicro(at).UTC(), err
}

func bytesOf(data []byte, stamp int64) []byte {
	if stamp == 0 {
		return nil
	}
	return append([]byte{}, data...)
}

// read carries out operations that change nothing.
func (db *database) read(ctx context.Context, ops []driver.Op) (results []driver.Result, err error) {
	rows, now, err := db.rows(ctx, db.DB, ops, false)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		var res driver.Result
		if r := rows[op.Key]; op.Newest > 0 {
			res = driver.Result{Status: driver.Done, Now: now}
			res.List, err = db.newest(ctx, db.DB, op)
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

// change carries out operations in a transaction, in which it locks what they name.
func (db *database) change(ctx context.Context, tx *sql.Tx, ops []driver.Op) (results []driver.Result, err error) {
	rows, now, err := db.rows(ctx, tx, ops, true)
	if err != nil {
		return nil, err
	}
	var notify []driver.Notification
	for _, op := range ops {
		r := rows[op.Key]
		if r.broken != nil {
			results = append(results, driver.Result{Err: r.broken})
			continue
		}
		if op.Newest > 0 { // of entries that were added before
			if err := db.write(ctx, tx, op.Key, r, now); err != nil {
				return nil, err
			}
			list, err := db.newest(ctx, tx, op)
			if err != nil {
				return nil, err
			}
			results = append(results, driver.Result{Status: driver.Done, Now: now, List: list})
			continue
		}
		res, published, err := db.decide(ctx, tx, r, op, now)
		if err != nil {
			return nil, err
		}
		results, notify = append(results, res), append(notify, published...)
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if err := db.write(ctx, tx, key, rows[key], now); err != nil {
			return nil, err
		}
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
		entries, notify, r.keep = c.Append, c.Notify, c.Keep.Microseconds()
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

// write writes a row that has changed, and the entries that were added.
func (db *database) write(ctx context.Context, tx *sql.Tx, key string, r *row, now time.Time) error {
	if !r.changed {
		return nil
	}
	if r.removed {
		if err := db.remove(ctx, tx, db.Namespace, key, r.stamp); err != nil {
			return err
		}
		r.found, r.last = false, 0
	}
	if err := db.append(ctx, tx, key, r); err != nil {
		return err
	}
	if r.removed && r.Empty() {
		*r = row{stamp: r.stamp}
		return nil
	}
	leases, err := encodeLeases(r.Value.Leases)
	if err != nil {
		return err
	}
	expires := int64(0)
	if r.keep > 0 {
		expires = now.UnixMicro() + r.keep
	}
	args := []any{r.Value.Version.Stamp, r.Value.Version.ID, orEmpty(r.Value.Data), string(leases), r.keep, expires, r.last, db.Namespace, key}
	query := "UPDATE solotick_item SET stamp = ?, id = ?, data = ?, leases = ?, keep = ?, expires = ?, last = ? WHERE namespace = ? AND item_key = ?"
	if !r.found {
		query = "INSERT INTO solotick_item (stamp, id, data, leases, keep, expires, last, namespace, item_key) VALUES " + listOf(len(args))
	}
	err = db.exec(ctx, tx, query, args...)
	r.found, r.changed, r.removed, r.List = true, false, false, nil
	return err
}

func orEmpty(data []byte) []byte { return append([]byte{}, data...) }

// remove removes a row with its list. Stamps of values that are made later lie above that one.
func (db *database) remove(ctx context.Context, tx *sql.Tx, namespace, key string, stamp int64) error {
	for _, query := range []string{"DELETE FROM solotick_item WHERE namespace = ? AND item_key = ?", "DELETE FROM solotick_entry WHERE namespace = ? AND item_key = ?"} {
		if err := db.exec(ctx, tx, query, namespace, key); err != nil {
			return err
		}
	}
	err := db.exec(ctx, tx, "UPDATE solotick_store SET floor = greatest(floor, ?) WHERE one = 1", stamp)
	return err
}

// append adds entries to the list of a row, but those that are there.
func (db *database) append(ctx context.Context, tx *sql.Tx, key string, r *row) error {
	if len(r.List) == 0 {
		return nil
	}
	args := []any{db.Namespace, key}
	for _, e := range r.List {
		args = append(args, e.ID)
	}
	there := map[string]bool{}
	var id string
	err := db.each(ctx, tx, "SELECT id FROM solotick_entry WHERE namespace = ? AND item_key = ? AND id IN "+listOf(len(r.List)), args, []any{&id},
		func() error { there[id] = true; return nil })
	if err != nil {
		return err
	}
	if !r.found { // somebody may have removed the row alone
		args := []any{db.Namespace, key}
		if err := db.each(ctx, tx, "SELECT coalesce(max(seq), 0) FROM solotick_entry WHERE namespace = ? AND item_key = ?", args, []any{&r.last}, func() error { return nil }); err != nil {
			return err
		}
	}
	most := 0
	for _, e := range r.List {
		if there[e.ID] {
			continue
		}
		r.last++
		most = r.most[e.ID]
		if err := db.exec(ctx, tx, "INSERT INTO solotick_entry (namespace, item_key, seq, id, body, made) VALUES "+listOf(6), db.Namespace, key, r.last, e.ID, orEmpty(e.Text), e.At.UnixMicro()); err != nil {
			return err
		}
	}
	if most == 0 {
		return nil
	}
	err = db.exec(ctx, tx, "DELETE FROM solotick_entry WHERE namespace = ? AND item_key = ? AND seq <= ?", db.Namespace, key, r.last-int64(most))
	return err
}

func (db *database) newest(ctx context.Context, q querier, op driver.Op) (list []driver.Entry, err error) {
	var e driver.Entry
	at := int64(0)
	err = db.each(ctx, q, "SELECT id, body, made FROM solotick_entry WHERE namespace = ? AND item_key = ? ORDER BY seq DESC LIMIT ?",
		[]any{db.Namespace, op.Key, op.Newest}, []any{&e.ID, &e.Text, &at}, func() error {
			list = append(list, driver.Entry{ID: e.ID, Text: slices.Clone(e.Text), At: time.UnixMicro(at).UTC()})
			return nil
		})
	return list, err
}

// Scan implements [driver.Store]. The cursor is the key that was listed last.
func (db *database) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	count = max(count, 1)
	err = db.call(ctx, func(ctx context.Context) error {
		keys = nil
		key := ""
		return db.each(ctx, db.DB, "SELECT item_key FROM solotick_item WHERE namespace = ? AND item_key > ? AND item_key >= ? AND item_key < ? AND stamp > 0 ORDER BY item_key LIMIT ?",
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

// Time implements [driver.Store].
func (db *database) Time(ctx context.Context) (now, since time.Time, err error) {
	var clock, began int64
	err = db.call(ctx, func(ctx context.Context) error {
		found, err := db.one(ctx, db.DB, "SELECT since, "+db.Now+" FROM solotick_store WHERE one = 1", &began, &clock)
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
