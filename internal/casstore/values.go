package casstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease/driver"
)

// values keeps items in a medium. It is a [driver.Store].
type values struct {
	name    string // of the package
	medium  Medium
	timeout time.Duration
	seen    sightings
	watch   watch
	notes   nonces
	sweeper sweeper
	advice  func(err error) (hint string, permanent bool)
}

// What keys in a medium begin with.
const (
	itemPrefix    = "item/"
	olderPrefix   = "older/" // than what the item has of its list
	messagePrefix = "message/"
	sinceKey      = "since"
)

// longestPause bounds the pauses of those that are in each other's way.
const longestPause = 250 * time.Millisecond

// pause waits before a try when others were quicker a few times.
func pause(ctx context.Context, tried int) {
	if tried > 2 {
		sleep.For(ctx, sleep.Scatter(tried-3, time.Millisecond, longestPause))
	}
}

// instant is read from two clocks at once.
type instant struct {
	fleet time.Time
	local steady.Instant
}

func (v *values) now(ctx context.Context) (instant, error) {
	fleet, err := v.medium.Clock(ctx)
	return instant{fleet.UTC(), steady.Now()}, err
}

// within begins a call: it bounds it, and sees to it that somebody watches.
func (v *values) within(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	if err := v.start(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, v.timeout, errTimeout)
	return ctx, cancel, nil
}

// Do implements [driver.Store]: each key on its own, and all at once.
func (v *values) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	results := make([]driver.Result, len(ops))
	if len(ops) == 0 {
		return results
	}
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	defer cancel()
	works := v.divide(ops)
	if err := v.load(ctx, works); err != nil {
		for i := range results {
			results[i].Err = v.failed(ctx, err)
		}
		return results
	}
	var wg sync.WaitGroup
	for _, w := range works[1:] {
		wg.Go(func() { w.carryOut(ctx, ops, results) })
	}
	works[0].carryOut(ctx, ops, results)
	wg.Wait()
	return results
}

// divide puts operations on the same key together.
func (v *values) divide(ops []driver.Op) []*work {
	works := make([]*work, 0, len(ops))
	byKey := make(map[string]*work, len(ops))
	for i, op := range ops {
		w := byKey[op.Key]
		if w == nil {
			w = &work{values: v, key: itemPrefix + op.Key}
			w.value, w.seen = v.seen.last(w.key)
			if op.Change == nil && op.Renew == nil && len(op.Append) == 0 || !v.watch.is() {
				w.value = nil // it is to be read: what nobody watches may have gone back, to the same revision
			}
			byKey[op.Key], works = w, append(works, w)
		}
		w.ops = append(w.ops, i)
	}
	return works
}

// load reads the values that have to be, all at once.
func (v *values) load(ctx context.Context, works []*work) error {
	var keys []string
	var of []*work
	for _, w := range works {
		if w.value == nil {
			keys, of = append(keys, w.key), append(of, w)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	list, err := v.medium.Get(ctx, keys)
	if err != nil {
		return err
	}
	for i, w := range of {
		w.take(list[i])
	}
	return nil
}

// work is to be done about one key.
type work struct {
	*values
	key   string
	ops   []int
	value *stored
	seen  []sight
	truth bool  // the value was the present one since the call began
	err   error // the value cannot be read
}

func (w *work) take(kept Kept) {
	w.truth = true
	if w.value, w.err = decode(w.key, kept); w.err == nil {
		w.seen = w.sightings().see(w.key, w.value)
	}
}

func (w *work) sightings() *sightings { return &w.values.seen }

func (w *work) carryOut(ctx context.Context, ops []driver.Op, results []driver.Result) {
	for _, i := range w.ops {
		res, err := w.do(ctx, ops[i])
		if err != nil {
			w.sightings().doubt(w.key)
			res = driver.Result{Err: w.failed(ctx, err)}
		}
		results[i] = res
	}
}

// do carries out one operation. It decides on the value that was seen last, and if that comes to
// nothing on the present one.
func (w *work) do(ctx context.Context, op driver.Op) (res driver.Result, err error) {
	if op.Newest > 0 {
		return w.newest(ctx, op.Newest)
	}
	for tried := 0; ; tried++ {
		pause(ctx, tried)
		now, err := w.now(ctx)
		if err == nil {
			err = w.err
		}
		if err != nil {
			return res, err
		}
		it := w.value.item(w.seen, now)
		res, changed := it.Do(w.adapted(op), now.fleet)
		switch {
		case changed:
			made, err := w.write(ctx, op, it, now)
			if err != nil || !made {
				if err != nil {
					return res, err
				}
				continue
			}
			if now, err = w.now(ctx); err != nil {
				return res, err
			}
			res.Now = now.fleet
			return res, nil
		case w.truth:
			return res, nil
		}
		list, err := w.medium.Get(ctx, []string{w.key})
		if err != nil {
			return res, err
		}
		w.take(list[0])
	}
}

// adapted is the operation with the least stamp that a new value may have, and without entries that
// the list has got already.
func (w *work) adapted(op driver.Op) driver.Op {
	op.Append = w.value.Older.unmoved(op.Append)
	if op.Change == nil {
		return op
	}
	made := *op.Change
	made.Append = w.value.Older.unmoved(made.Append)
	if made.Data != nil && w.value.version() == (driver.Version{}) {
		made.MinStamp = w.sightings().least(w.key, made.MinStamp)
	}
	op.Change = &made
	return op
}

// write writes what an operation has made of the value, unless somebody else has changed it. The
// value is the present one then in any case.
func (w *work) write(ctx context.Context, op driver.Op, it *driver.Item, now instant) (made bool, err error) {
	before := w.value
	next := before.after(op, it, now.fleet)
	removed, err := w.moveOlder(ctx, op, next)
	if err != nil {
		return false, err
	}
	data, err := next.encode()
	if err != nil {
		return false, err
	}
	if data == nil && before.revision == 0 {
		list, err := w.medium.Get(ctx, []string{w.key}) // whether nothing is there
		if err != nil {
			return false, err
		}
		w.take(list[0])
		made = w.err == nil && w.value.revision == 0
	} else {
		kept, ok, err := w.medium.Put(ctx, w.key, data, before.revision)
		if err != nil {
			return false, err
		}
		made = ok
		if ok && data != nil {
			next.revision = kept.Revision
			w.value, w.truth, w.seen = next, true, w.sightings().see(w.key, next)
		} else {
			w.take(kept)
		}
	}
	if !made || w.err != nil {
		return false, w.err
	}
	if data == nil && op.Change != nil {
		_ = w.publishNotes(ctx, next.Notes) // the change is made, and notifications may be lost
	}
	w.removeOlder(ctx, removed)
	return true, nil
}

// Scan implements [driver.Store].
func (v *values) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return nil, "", err
	}
	defer cancel()
	list, next, err := v.medium.Keys(ctx, itemPrefix+prefix, cursor, max(count, 1))
	if err != nil {
		return nil, "", v.failed(ctx, err)
	}
	kept, err := v.medium.Get(ctx, list)
	if err != nil {
		return nil, "", v.failed(ctx, err)
	}
	for i, key := range list {
		if st, err := decode(key, kept[i]); err != nil || st.version() != (driver.Version{}) { // who reads it gets the error
			keys = append(keys, strings.TrimPrefix(key, itemPrefix))
		}
	}
	return keys, next, nil
}

// Time implements [driver.Store].
func (v *values) Time(ctx context.Context) (now, since time.Time, err error) {
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	defer cancel()
	err = v.update(ctx, sinceKey, func(kept []byte, at time.Time) (data []byte, err error) {
		if kept == nil {
			kept = []byte(at.Format(time.RFC3339Nano))
			data = kept
		}
		if since, err = time.Parse(time.RFC3339Nano, string(kept)); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", driver.ErrRecord, sinceKey, err)
		}
		return data, nil
	})
	if err != nil {
		return time.Time{}, time.Time{}, v.failed(ctx, err)
	}
	at, err := v.now(ctx)
	if err != nil {
		return time.Time{}, time.Time{}, v.failed(ctx, err)
	}
	if at.fleet.Before(since) { // another replica, whose reckoning is ahead, has just made it
		at.fleet = since
	}
	return at.fleet, since.UTC(), nil
}

// update changes what is kept under a key. change gets it, nil for nothing, and returns what is to be
// kept; nil to leave it alone.
func (v *values) update(ctx context.Context, key string, change func(kept []byte, now time.Time) ([]byte, error)) error {
	list, err := v.medium.Get(ctx, []string{key})
	if err != nil {
		return err
	}
	present := list[0]
	for tried := 0; ; tried++ {
		pause(ctx, tried)
		now, err := v.now(ctx)
		if err != nil {
			return err
		}
		data, err := change(present.Data, now.fleet)
		if err != nil || data == nil {
			return err
		}
		var ok bool
		if present, ok, err = v.medium.Put(ctx, key, data, present.Revision); err != nil || ok {
			return err
		}
	}
}

// readable reads what is kept, and reports whether there is something that can be read.
func readable(data []byte, into any) bool { return data != nil && json.Unmarshal(data, into) == nil }

// remove removes the content of a key.
func (v *values) remove(ctx context.Context, key string) error {
	present := Kept{}
	for tried := 0; ; tried++ {
		pause(ctx, tried)
		kept, ok, err := v.medium.Put(ctx, key, nil, present.Revision)
		if err != nil || ok && present.Revision != 0 || !ok && kept.Revision == 0 {
			return err
		}
		if ok { // nothing was there
			return nil
		}
		present = kept
	}
}
