package casstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
)

const (
	sweepEvery = time.Minute      // a page of which all is of use; sooner, the more is not
	sweepPage  = 64               // keys
	orphanAge  = 10 * time.Minute // of what a process has written that did not come to use it
)

// sweeper removes what nobody needs any more, a page of keys at a time. Every process does so, and
// each removal names the revision.
type sweeper struct {
	cursor string
}

// sweep sweeps until the context ends.
func (v *values) sweep(ctx context.Context) {
	for removed := 0; ; {
		pause := sweepEvery / time.Duration(1+removed)
		sleep.For(ctx, pause/2+rand.N(pause))
		if ctx.Err() != nil {
			return
		}
		removed = v.sweepPage(ctx)
	}
}

// sweepPage sweeps the next page of keys, and returns how many it has removed. When that fails, it
// is the next one's turn all the same.
func (v *values) sweepPage(ctx context.Context) (removed int) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	at, err := v.now(ctx)
	if err != nil {
		return 0
	}
	keys, next, err := v.medium.Keys(ctx, "", v.sweeper.cursor, sweepPage)
	if err != nil {
		return 0
	}
	v.sweeper.cursor = next
	for _, key := range keys {
		gone, err := v.sweepKey(ctx, key, at.fleet)
		if err != nil {
			break // the next page is tried all the same
		}
		if gone {
			removed++
		}
	}
	return removed
}

// sweepKey removes what is kept under a key if it is of no use.
func (v *values) sweepKey(ctx context.Context, key string, now time.Time) (removed bool, err error) {
	kind, rest, _ := strings.Cut(key, "/")
	owner, _, _ := strings.Cut(rest, "/")
	var used func(kept []byte) bool
	held := func(Kept) bool { return false }
	switch kind + "/" {
	case itemPrefix:
		used = func(kept []byte) bool {
			st, err := decode(key, Kept{kept, 1})
			return err != nil || st.Keep == 0 || now.Before(time.UnixMicro(st.At).Add(st.Keep))
		}
		held = func(kept Kept) bool { return v.held(key, kept) } // whatever the clocks say
	case olderPrefix:
		owner = itemPrefix + owner
		used = func(kept []byte) bool {
			st, err := decode(owner, Kept{kept, 1})
			return err != nil || slices.Contains(st.Older.keys(owner), key)
		}
		return false, v.sweepOrphan(ctx, key, owner, now, used)
	case messagePrefix:
		used = func(kept []byte) bool {
			var m message
			return !readable(kept, &m) || now.Sub(time.UnixMicro(m.At)) < orphanAge
		}
	default:
		return false, nil
	}
	list, err := v.medium.Get(ctx, []string{key})
	if err != nil || list[0].Revision == 0 || used(list[0].Data) || held(list[0]) {
		return false, err
	}
	_, removed, err = v.medium.Put(ctx, key, nil, list[0].Revision)
	return removed, err
}

// held reports whether a value has a lease that has not ended as far as this process has seen.
func (v *values) held(key string, kept Kept) bool {
	st, err := decode(key, kept)
	if err != nil {
		return true
	}
	for i, s := range v.seen.see(key, st) {
		if steady.Now() < s.ends(st.Leases[i].TTL) {
			return true
		}
	}
	return false
}

// sweepOrphan removes what is kept under a key for an owner that does not use it, or is gone. The
// owner comes to use it a moment after it was written.
func (v *values) sweepOrphan(ctx context.Context, key, owner string, now time.Time, used func(kept []byte) bool) error {
	list, err := v.medium.Get(ctx, []string{owner})
	if err != nil || list[0].Revision != 0 && used(list[0].Data) {
		return err
	}
	if list, err = v.medium.Get(ctx, []string{key}); err != nil {
		return err
	}
	var written struct{ At int64 }
	if !readable(list[0].Data, &written) || now.Sub(time.UnixMicro(written.At)) < orphanAge {
		return nil
	}
	_, _, err = v.medium.Put(ctx, key, nil, list[0].Revision)
	return err
}
