package sqlitelease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// values keeps the items of a namespace, each in a row, with its list in rows of another table. It
// is a [driver.Store].
type values struct {
	namespace     string
	file          *file
	reads, writes *transactions
}

// Do implements [driver.Store], in one transaction. One that only reads waits for no lock.
func (v *values) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	ops = slices.Clone(ops)
	calls := v.reads
	for _, op := range ops {
		if op.Change != nil || op.Renew != nil || len(op.Append) > 0 {
			calls = v.writes
		}
	}
	results := make([]driver.Result, len(ops))
	err := calls.do(ctx, func(t *tx) (err error) {
		for i, op := range ops {
			if results[i], err = v.one(t, op); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return results
	}
	failed := make([]driver.Result, len(ops)) // the other results may still be written to
	for i := range failed {
		failed[i].Err = err
	}
	return failed
}

// one carries out an operation. An error is one of the transaction.
func (v *values) one(t *tx, op driver.Op) (res driver.Result, err error) {
	if op.Newest > 0 {
		return v.newest(t, op)
	}
	if op.Change != nil && !op.Change.Essential && !v.file.room(t) {
		return driver.Result{Err: v.file.failed(errNoRoom)}, nil
	}
	var it driver.Item
	var leases []byte
	keep := int64(0)
	found := false
	if len(op.Append) == 0 {
		found, err = t.one("SELECT stamp, id, data, leases, keep FROM item WHERE namespace = ? AND key = ?", []any{v.namespace, op.Key},
			&it.Value.Version.Stamp, &it.Value.Version.ID, &it.Value.Data, &leases, &keep)
		if err != nil {
			return res, err
		}
	}
	if found {
		if err := json.Unmarshal(leases, &it.Value.Leases); err != nil {
			return driver.Result{Err: fmt.Errorf("%w: leases of %s in table item of %s: %w", driver.ErrRecord, op.Key, v.file.path, err)}, nil
		}
	}
	if c := op.Change; c != nil && !found && c.Data != nil {
		made := *c
		if made.MinStamp, err = v.floor(t, c.MinStamp); err != nil {
			return res, err
		}
		op.Change = &made
	}
	stamp := it.Value.Version.Stamp
	res, changed := it.Do(op, t.now)
	if op.Change != nil && changed {
		keep = op.Change.Keep.Microseconds()
		err = v.publish(t, op.Change.Notify)
	}
	switch {
	case err != nil || !changed:
	case op.Change != nil && op.Change.Data == nil:
		err = v.remove(t, op.Key, stamp)
	default:
		err = v.write(t, op.Key, &it, keep, maxima(op))
	}
	if err == nil && changed && op.Change != nil {
		err = v.index(t, op.Key, op.Change.DueMilli())
	}
	return res, err
}

// index moves a key in the index; 0 takes it out.
func (v *values) index(t *tx, key string, due int64) error {
	job, _, ok := driver.CutKey(key)
	switch {
	case !ok:
		return nil
	case due == 0:
		return t.exec("DELETE FROM due WHERE namespace = ? AND key = ?", v.namespace, key)
	}
	return t.exec("INSERT INTO due VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
		v.namespace, key, job, driver.ShareOf(key), due)
}

// floor returns the least stamp of a value that is made: tokens rise also when the clock went back
// since one of that key was removed.
func (v *values) floor(t *tx, least int64) (int64, error) {
	floor := int64(0)
	_, err := t.one("SELECT floor FROM store", nil, &floor)
	return max(least, floor+1), err
}

func (v *values) remove(t *tx, key string, stamp int64) error {
	for _, query := range []string{"DELETE FROM item WHERE namespace = ? AND key = ?", "DELETE FROM entry WHERE namespace = ? AND key = ?"} {
		if err := t.exec(query, v.namespace, key); err != nil {
			return err
		}
	}
	return t.exec("UPDATE store SET floor = max(floor, ?)", stamp)
}

// maxima are how many entries the list keeps, by the entries that are added.
func maxima(op driver.Op) map[string]int {
	entries := op.Append
	if op.Change != nil {
		entries = op.Change.Append
	}
	most := make(map[string]int, len(entries))
	for _, e := range entries {
		most[e.ID] = max(e.Max, 1)
	}
	return most
}

// write writes an item, and adds its entries to those that are there.
func (v *values) write(t *tx, key string, it *driver.Item, keep int64, most map[string]int) error {
	if it.Value.Version != (driver.Version{}) {
		leases, err := json.Marshal(it.Value.Leases)
		if err != nil {
			return err
		}
		err = t.exec("INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)", v.namespace, key,
			it.Value.Version.Stamp, it.Value.Version.ID, it.Value.Data, string(leases), keep, t.now.UnixMicro())
		if err != nil {
			return err
		}
	}
	if keep > 0 { // what nobody has touched for long enough goes
		const over = "keep > 0 AND touched + keep < ?"
		for _, query := range []string{"UPDATE store SET floor = max(floor, stamp) FROM (SELECT max(stamp) AS stamp FROM item WHERE " + over + ") WHERE stamp IS NOT NULL",
			"DELETE FROM item WHERE " + over} {
			if err := t.exec(query, t.now.UnixMicro()); err != nil {
				return err
			}
		}
	}
	for _, e := range it.List {
		err := t.exec("INSERT INTO entry SELECT ?1, ?2, coalesce(max(seq), 0) + 1, ?3, ?4, ?5 FROM entry WHERE namespace = ?1 AND key = ?2"+
			" ON CONFLICT DO NOTHING", v.namespace, key, e.ID, orEmpty(e.Text), e.At.UnixMicro())
		if err == nil {
			err = t.exec("DELETE FROM entry WHERE namespace = ?1 AND key = ?2 AND seq <= (SELECT max(seq) FROM entry WHERE namespace = ?1 AND key = ?2) - ?3",
				v.namespace, key, most[e.ID])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func orEmpty(text []byte) []byte { return append([]byte{}, text...) }

func (v *values) newest(t *tx, op driver.Op) (res driver.Result, err error) {
	res = driver.Result{Status: driver.Done, Now: t.now}
	var e driver.Entry
	at := int64(0)
	err = t.each("SELECT id, text, at FROM entry WHERE namespace = ? AND key = ? ORDER BY seq DESC LIMIT ?",
		[]any{v.namespace, op.Key, op.Newest}, []any{&e.ID, &e.Text, &at}, func() {
			res.List = append(res.List, driver.Entry{ID: e.ID, Text: slices.Clone(e.Text), At: time.UnixMicro(at).UTC()})
		})
	return res, err
}

// Scan implements [driver.Store]. The cursor is the key that was listed last.
func (v *values) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	var list []string
	count = max(count, 1)
	err = v.reads.do(ctx, func(t *tx) error {
		list = nil
		key := ""
		return t.each("SELECT key FROM item WHERE namespace = ? AND key > ? AND key >= ? AND key < ? ORDER BY key LIMIT ?",
			[]any{v.namespace, cursor, prefix, prefix + "\U0010ffff", count}, []any{&key}, func() { list = append(list, strings.Clone(key)) })
	})
	if err != nil {
		return nil, "", err
	}
	if len(list) == count {
		next = list[count-1]
	}
	return list, next, nil
}

// Due implements [driver.Index].
func (v *values) Due(ctx context.Context, job string, shares []int, until time.Time, count int) ([]driver.DueKey, error) {
	list, err := json.Marshal(shares)
	if err != nil {
		return nil, err
	}
	var due []driver.DueKey
	err = v.reads.do(ctx, func(t *tx) error {
		due = nil
		key, at := "", int64(0)
		return t.each("SELECT d.key, d.at FROM json_each(?3) s JOIN due d ON d.namespace = ?1 AND d.key IN"+
			" (SELECT key FROM due WHERE namespace = ?1 AND job = ?2 AND share = s.value AND at <= ?4 ORDER BY at LIMIT ?5)",
			[]any{v.namespace, job, string(list), until.UnixMilli(), max(count, 0)}, []any{&key, &at},
			func() { due = append(due, driver.DueKey{Key: strings.Clone(key), At: time.UnixMilli(at).UTC()}) })
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(due, driver.DueKey.Compare)
	return due, nil
}

// Time implements [driver.Store].
func (v *values) Time(ctx context.Context) (now, since time.Time, err error) {
	var at int64
	var found bool
	var clock time.Time
	read := func(t *tx) (err error) {
		clock = t.now
		found, err = t.one("SELECT since FROM store", nil, &at)
		return err
	}
	if err = v.reads.do(ctx, read); err == nil && !found { // somebody has emptied it
		err = v.writes.do(ctx, func(t *tx) error {
			if err := t.exec("INSERT OR IGNORE INTO store VALUES (1, ?, 0)", t.now.UnixMicro()); err != nil {
				return err
			}
			return read(t)
		})
	}
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	return clock, time.UnixMicro(at).UTC(), nil
}
