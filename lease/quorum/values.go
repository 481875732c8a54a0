package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/quorumnode"
	"github.com/solotick/solotick/lease/driver"
)

// values is a [driver.Store] on a majority of the nodes: each key is an item in a register.
type values struct {
	*registers
	longest time.Duration // TTL
	copies  copies
}

// batch has the operations of one call on one key.
type batch struct {
	ops     []driver.Op
	results []driver.Result
	places  []int // of the operations among those of the call
	item    *item // as it is after them
	removed bool  // they have removed an item with an archive
}

// Do implements [driver.Store].
func (v *values) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	results := make([]driver.Result, len(ops))
	byKey := make(map[string]int, len(ops))
	var requests []request
	var batches []*batch
	grows := false
	for i, op := range ops {
		op, err := v.stretched(op)
		if err != nil {
			results[i].Err = err
			continue
		}
		n, known := byKey[op.Key]
		if !known {
			n = len(batches)
			b := new(batch)
			byKey[op.Key], batches = n, append(batches, b)
			requests = append(requests, request{key: op.Key, apply: func(at reading) (outcome, error) { return v.apply(op.Key, b, at) }})
		}
		b, q := batches[n], &requests[n]
		b.ops, b.places = append(b.ops, op), append(b.places, i)
		q.once = q.once || op.Change != nil
		q.changes = q.changes || op.Change != nil || op.Renew != nil || len(op.Append) > 0
		grows = grows || len(op.Append) > 0 || op.Change != nil && !op.Change.Essential
	}
	errs := v.update(ctx, requests, grows)
	for n, b := range batches {
		if errs[n] == nil && b.removed {
			errs[n] = v.removeArchive(ctx, requests[n].key)
		}
		for j, i := range b.places {
			if results[i].Err = errs[n]; errs[n] == nil {
				results[i] = b.results[j]
				v.finishList(ctx, b.item, ops[i], &results[i])
			}
		}
	}
	return results
}

// finishList archives what has become too much for an item, and completes a list that was read.
func (v *values) finishList(ctx context.Context, it *item, op driver.Op, res *driver.Result) {
	if op.Newest > len(res.List) && it.Moved > 0 {
		v.readArchive(ctx, op, res)
	}
	entries := op.Append
	if op.Change != nil {
		entries = op.Change.Append
	}
	if len(entries) > 0 && entries[0].Max > mostInItem && len(it.List) > mostInItem {
		v.archive(ctx, op.Key, it, entries[0].Max)
	}
}

// stretched makes the leases of an operation last for longer by the drift of clocks. It fails when
// they last for longer than a node takes to count again that has forgotten.
func (v *values) stretched(op driver.Op) (driver.Op, error) {
	var err error
	stretch := func(ttl *time.Duration) {
		if *ttl > v.longest {
			err = protocol.Permanent(fmt.Errorf("quorum: TTL %s must be at most %s: see WithTTL", *ttl, v.longest))
		}
		*ttl += drift(*ttl)
	}
	if op.Renew != nil {
		renewal := *op.Renew
		op.Renew = &renewal
		stretch(&renewal.TTL)
	}
	if op.Change != nil && len(op.Change.Leases) > 0 {
		change := *op.Change
		op.Change, change.Leases = &change, slices.Clone(change.Leases)
		for i := range change.Leases {
			stretch(&change.Leases[i].TTL)
		}
	}
	return op, err
}

// drift is for how much longer than its TTL a lease is kept, since the nodes' clocks and the
// holder's may run at different speeds.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// apply carries out the operations on a key.
func (v *values) apply(key string, b *batch, at reading) (outcome, error) {
	it, err := readItem(at)
	if err != nil {
		return outcome{}, err
	}
	v.copies.leaveOut(key, it)
	b.removed = false
	results := make([]driver.Result, len(b.ops))
	var notify []driver.Notification
	written := false
	for i, op := range b.ops {
		var changed bool
		results[i], changed = it.Do(op, at.now)
		written = written || changed
		if c := op.Change; changed && c != nil {
			notify = append(notify, c.Notify...)
			if it.Keep = c.Keep; c.Data == nil {
				b.removed, it.Keep, it.Moved = it.Moved > 0, 0, 0
			}
		}
	}
	o := outcome{keep: it.Keep, done: func() {
		b.item, b.results = it, results
		v.notify(notify)
	}}
	if written {
		o.next, err = it.encode()
	}
	return o, err
}

// Scan implements [driver.Store].
func (v *values) Scan(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	at, err := readScan(cursor)
	if err != nil {
		return nil, "", err
	}
	if cursor == "" { // learns which nodes count, also in a namespace that is new
		if _, _, err := v.Time(ctx); err != nil {
			return nil, "", fmt.Errorf("scan: %w", err)
		}
	}
	found, at, err := v.scan(ctx, prefix, at, max(count, 1))
	if err != nil {
		return nil, "", fmt.Errorf("scan: %w", err)
	}
	found = slices.DeleteFunc(found, isArchive)
	ops := make([]driver.Op, len(found))
	for i, key := range found {
		ops[i].Key = key
	}
	for i, res := range v.Do(ctx, ops) {
		if res.Err != nil {
			return nil, "", fmt.Errorf("scan: %q: %w", found[i], res.Err)
		}
		if res.Value.Version != (driver.Version{}) {
			keys = append(keys, found[i])
		}
	}
	if at.done < v.enoughToScan() {
		next = at.String()
	}
	return keys, next, nil
}

// Time implements [driver.Store]. The clock is the median of those of all nodes that have answered
// within an hour: see the package comment. The first call waits a quarter of the timeout for each
// node to answer or to fail. Since is when the last of a majority began to remember, each by its
// own clock.
func (v *values) Time(ctx context.Context) (now, since time.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, v.timeout, errTimeout)
	defer cancel()
	_, _, err = v.ask(ctx, func(int) []quorumnode.Op { return nil }, nil)
	if err != nil {
		return time.Time{}, time.Time{}, fmt.Errorf("time: %w", err)
	}
	v.clock.awaitAll(ctx, v.timeout/4)
	return v.clock.now(), v.since(), nil
}
