package casstore

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/sleep"
)

const (
	sweepEvery = 15 * time.Second // a page
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
	for {
		sleep.For(ctx, sweepEvery/2+rand.N(sweepEvery))
		if ctx.Err() != nil {
			return
		}
		v.sweepPage(ctx)
	}
}

// sweepPage sweeps the next page of keys. When that fails, it is the next one's turn all the same.
func (v *values) sweepPage(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	at, err := v.now(ctx)
	if err != nil {
		return
	}
	keys, next, err := v.medium.Keys(ctx, "", v.sweeper.cursor, sweepPage)
	if err != nil {
		return
	}
	v.sweeper.cursor = next
	list, err := v.medium.Get(ctx, keys)
	if err != nil {
		return
	}
	for i, key := range keys {
		if list[i].Revision != 0 && v.sweepKey(ctx, key, list[i], at.fleet) != nil {
			return
		}
	}
	if next == "" {
		v.sweepMembers(ctx, at.fleet)
	}
}

// sweepKey removes what is kept under a key if it is of no use.
func (v *values) sweepKey(ctx context.Context, key string, kept Kept, now time.Time) (err error) {
	var over bool
	switch kind, _, _ := strings.Cut(key, "/"); kind + "/" {
	case itemPrefix:
		st, err := decode(key, kept)
		over = err == nil && st.Keep > 0 && now.After(time.UnixMicro(st.At).Add(st.Keep))
	case olderPrefix:
		return v.sweepChunk(ctx, key, kept, now)
	case setPrefix:
		var set keptSet
		over = json.Unmarshal(kept.Data, &set) == nil && now.After(time.UnixMicro(set.Ends))
	case partPrefix:
		return v.sweepPart(ctx, key, kept, now)
	case messagePrefix:
		var m message
		over = json.Unmarshal(kept.Data, &m) == nil && now.Sub(time.UnixMicro(m.At)) > orphanAge
	}
	if over {
		_, _, err = v.medium.Put(ctx, key, nil, kept.Revision)
	}
	return err
}
