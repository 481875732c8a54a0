package casstore

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// An item has the newest entries of its list. When it has many, the older ones move to a chunk: a
// key of its own, which is written once. So a change of the item does not write them again.

const (
	mostEntries = 32       // in an item
	mostText    = 16 << 10 // bytes of entries in an item, and one entry more
	fewEntries  = 8        // stay in an item when others move
)

// chunks are where an item has the older entries of its list.
type chunks struct {
	Of    string // distinguishes them from those of an item that was removed
	First int    // the number of the oldest
	Count []int  // how many entries each has
	Most  int    // how many entries the list keeps at least
	// Moved are hashes of the ids that the newest has: who repeats a request soon is not to add its
	// entry again. One that is repeated after more than that many others is added.
	Moved []uint64
}

func hash(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return h.Sum64() >> 11 // as JSON has no more bits
}

// unmoved returns the entries that were not moved a moment ago.
func (c *chunks) unmoved(list []driver.Entry) []driver.Entry {
	if c == nil || !slices.ContainsFunc(list, func(e driver.Entry) bool { return slices.Contains(c.Moved, hash(e.ID)) }) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e driver.Entry) bool { return slices.Contains(c.Moved, hash(e.ID)) })
}

func (c *chunks) key(item string, i int) string {
	return olderPrefix + strings.TrimPrefix(item, itemPrefix) + "/" + c.Of + "/" + strconv.Itoa(c.First+i)
}

func (c *chunks) keys(item string) (keys []string) {
	if c == nil {
		return nil
	}
	for i := range c.Count {
		keys = append(keys, c.key(item, i))
	}
	return keys
}

// chunk is the content of its key.
type chunk struct {
	At   int64 // when it was written, in Unix microseconds
	List []driver.Entry
}

// moveOlder moves older entries of the value out of what it is to be next. It returns the keys that
// are of no use when that is written.
func (w *work) moveOlder(ctx context.Context, op driver.Op, next *stored) (useless []string, err error) {
	before := w.value
	if next.Stamp == 0 && len(next.List) == 0 {
		next.Older = nil
		return before.Older.keys(w.key), nil
	}
	most := 0
	entries := op.Append
	if op.Change != nil {
		entries = op.Change.Append
	}
	for _, e := range entries {
		most = max(most, e.Max, 1)
	}
	text := 0
	for _, e := range before.List {
		text += e.Len
	}
	if most <= fewEntries || len(before.List) < mostEntries && text < mostText || len(before.List) <= 1 {
		return nil, nil
	}
	older := chunks{Of: strconv.FormatInt(before.List[0].At, 36)}
	if before.Older != nil {
		older = *before.Older
		older.Count = slices.Clone(older.Count)
	}
	older.Most = most
	moved := before.List[:max(1, len(before.List)-fewEntries)]
	content := chunk{At: next.At}
	ids := make(map[string]bool, len(moved))
	older.Moved = nil
	for _, e := range moved {
		content.List = append(content.List, e.entry())
		ids[e.ID], older.Moved = true, append(older.Moved, hash(e.ID))
	}
	key := older.key(w.key, len(older.Count))
	if moved, err := w.putOlder(ctx, key, content); err != nil || !moved {
		return nil, context.Cause(ctx) // they stay: where there is no room for a key, leases are renewed and settled all the same
	}
	next.List = slices.DeleteFunc(next.List, func(e keptEntry) bool { return ids[e.ID] })
	older.Count = append(older.Count, len(moved))
	kept := len(next.List)
	for _, n := range older.Count {
		kept += n
	}
	for kept-older.Count[0] >= most {
		kept -= older.Count[0]
		useless = append(useless, older.key(w.key, 0))
		older.First, older.Count = older.First+1, older.Count[1:]
	}
	next.Older = &older
	return useless, nil
}

// same reports whether a chunk that somebody else has written has the same entries, and is not about
// to be swept.
func (c chunk) same(kept Kept) bool {
	var other chunk
	return readable(kept.Data, &other) && time.UnixMicro(other.At).Sub(time.UnixMicro(c.At)).Abs() < orphanAge/2 &&
		slices.EqualFunc(c.List, other.List, func(a, b driver.Entry) bool { return a.ID == b.ID })
}

// putOlder writes a chunk that the value does not have yet. The quicker one may have moved the same
// entries. Others under its key were left by a process that was killed, if the value is still the
// present one; if not, the value itself is not written either.
func (w *work) putOlder(ctx context.Context, key string, content chunk) (moved bool, err error) {
	data, err := json.Marshal(content)
	if err != nil {
		return false, err
	}
	present, ok, err := w.medium.Put(ctx, key, data, 0)
	for err == nil && !ok && !content.same(present) {
		item, err := w.medium.Get(ctx, []string{w.key})
		if err != nil || item[0].Revision != w.value.revision {
			return false, err
		}
		if present, ok, err = w.medium.Put(ctx, key, data, present.Revision); err != nil {
			return false, err
		}
	}
	return ok || content.same(present), err
}

// removeOlder removes chunks that are of no use. What it leaves is swept some time.
func (w *work) removeOlder(ctx context.Context, keys []string) {
	for _, key := range keys {
		if w.remove(ctx, key) != nil {
			return
		}
	}
}

// newest reads the newest entries of the list.
func (w *work) newest(ctx context.Context, n int) (res driver.Result, err error) {
	now, err := w.now(ctx)
	if err == nil {
		err = w.err
	}
	if err != nil {
		return res, err
	}
	res = driver.Result{Status: driver.Done, Now: now.fleet}
	for _, e := range slices.Backward(w.value.List) {
		res.List = append(res.List, e.entry())
	}
	older := w.value.Older
	if older != nil {
		keys := older.keys(w.key)
		missing := n - len(res.List)
		first := len(keys)
		for first > 0 && missing > 0 {
			first--
			missing -= older.Count[first]
		}
		list, err := w.medium.Get(ctx, keys[first:])
		if err != nil {
			return res, err
		}
		for i, kept := range slices.Backward(list) {
			if kept.Revision == 0 {
				continue // it has just become too old
			}
			var content chunk
			if err := json.Unmarshal(kept.Data, &content); err != nil {
				return res, fmt.Errorf("%w: %s: %w", driver.ErrRecord, keys[first+i], err)
			}
			slices.Reverse(content.List)
			res.List = append(res.List, content.List...)
		}
	}
	res.List = res.List[:min(n, len(res.List))]
	return res, nil
}
