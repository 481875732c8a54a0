// Package keyqueue lets one caller at a time use a key.
package keyqueue

import (
	"context"
	"slices"
	"sync"
)

// Queue has a queue for each key that is in use. The zero value is ready for use. It is safe for
// concurrent use.
type Queue struct {
	mu   sync.Mutex
	busy map[string][]chan struct{} // of the keys that are in use, who waits
}

// Take waits until all keys, which are different, are free; Give frees them. It sorts the keys.
// Waiters for a key go in the order in which they came. It fails only when ctx ends, and then has
// taken none.
func (q *Queue) Take(ctx context.Context, keys ...string) error {
	slices.Sort(keys) // in one order, so that no two callers wait for each other
	for i, key := range keys {
		if err := q.take(ctx, key); err != nil {
			q.Give(keys[:i]...)
			return err
		}
	}
	return nil
}

func (q *Queue) take(ctx context.Context, key string) error {
	q.mu.Lock()
	waiting, taken := q.busy[key]
	if !taken {
		if q.busy == nil {
			q.busy = make(map[string][]chan struct{})
		}
		q.busy[key] = nil
		q.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	q.busy[key] = append(waiting, mine)
	q.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.busy[key], mine); i >= 0 {
		q.busy[key] = slices.Delete(slices.Clone(q.busy[key]), i, i+1)
	} else { // it became free for this caller at the same moment
		q.next(key)
	}
	return context.Cause(ctx)
}

// Give frees keys that were taken.
func (q *Queue) Give(keys ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range keys {
		q.next(key)
	}
}

// next lets the next one go. It is called with the mutex held.
func (q *Queue) next(key string) {
	waiting := q.busy[key]
	if len(waiting) == 0 {
		delete(q.busy, key)
		return
	}
	q.busy[key] = waiting[1:]
	close(waiting[0])
}
