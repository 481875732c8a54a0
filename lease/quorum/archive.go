package quorum

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/solotick/solotick/lease/driver"
)

// An item's list has the newest entries alone, so that not every change of a key carries all of
// them. When there are more than mostInItem, they are copied to the archive, a register of their
// own. The next change leaves them out of the item.
const (
	mostInItem    = 16
	archivePrefix = "list:"
)

func isArchive(key string) bool { return strings.HasPrefix(key, archivePrefix) }

// archive is the value of that register.
type archive struct {
	End  int            // how many entries the key's list has had when they were copied
	List []driver.Entry // oldest first
}

// copies are what this process has copied to archives and not yet left out of the items.
type copies struct {
	mu    sync.Mutex
	byKey map[string]copied
}

type copied struct {
	end  int    // as in archive
	last string // id of the last entry
}

func (c *copies) set(key string, to copied) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = make(map[string]copied)
	}
	c.byKey[key] = to
}

// leaveOut leaves out of an item what its archive has.
func (c *copies) leaveOut(key string, it *item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, ok := c.byKey[key]
	n := done.end - it.Moved
	switch {
	case !ok:
	case n > 0 && n <= len(it.List) && it.List[n-1].ID == done.last:
		it.List, it.Moved = it.List[n:], done.end
	default: // somebody else did
		delete(c.byKey, key)
	}
}

// archive copies the list of an item, of which so many entries are to be kept. If that fails, a
// later change does it.
func (v *values) archive(ctx context.Context, key string, it *item, most int) {
	end := it.Moved + len(it.List)
	copying := request{key: archivePrefix + key, changes: true, apply: func(at reading) (outcome, error) {
		var kept archive
		if it.Moved > 0 { // otherwise, what there is belongs to an item that was removed
			if err := decode(at.value, &kept); err != nil {
				return outcome{}, err
			}
		}
		o := outcome{keep: it.Keep}
		if kept.End > end { // the item is not the present one any more
			return o, nil
		}
		kept.End = end
		for _, e := range it.List {
			if !has(kept.List, e.ID) {
				kept.List = append(kept.List, e)
			}
		}
		kept.List = kept.List[max(0, len(kept.List)-most):]
		text, err := json.Marshal(kept)
		if o.next = string(text); o.next == at.value {
			o.next = ""
		}
		return o, err
	}}
	if v.update(ctx, []request{copying}, true)[0] == nil {
		v.copies.set(key, copied{end, it.List[len(it.List)-1].ID})
	}
}

// readArchive adds the older entries to a list that was read. The item was read before: what has
// gone from there is here.
func (v *values) readArchive(ctx context.Context, op driver.Op, res *driver.Result) {
	var kept archive
	reading := request{key: archivePrefix + op.Key, apply: func(at reading) (outcome, error) {
		kept = archive{}
		return outcome{}, decode(at.value, &kept)
	}}
	if err := v.update(ctx, []request{reading}, false)[0]; err != nil {
		*res = driver.Result{Err: err}
		return
	}
	for _, e := range slices.Backward(kept.List) {
		if len(res.List) < op.Newest && !has(res.List, e.ID) {
			res.List = append(res.List, e)
		}
	}
}

// removeArchive empties the archive of an item that was removed.
func (v *values) removeArchive(ctx context.Context, key string) error {
	const empty = "{}"
	return v.update(ctx, []request{{key: archivePrefix + key, changes: true, apply: func(at reading) (outcome, error) {
		if at.value == "" || at.value == empty {
			return outcome{}, nil
		}
		return outcome{next: empty}, nil
	}}}, false)[0]
}

func has(list []driver.Entry, id string) bool {
	return slices.ContainsFunc(list, func(e driver.Entry) bool { return e.ID == id })
}
