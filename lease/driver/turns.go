package driver

import (
	"context"
	"sync"
)

// turns lets one change of a key be under way at a time. Those that wait go in the order in which they came.
type turns struct {
	mu   sync.Mutex
	busy map[string][]chan struct{} // of the keys that are in use, who waits
}

// take waits until the key is free. It fails only when ctx ends.
func (t *turns) take(ctx context.Context, key string) error {
	t.mu.Lock()
	waiting, taken := t.busy[key]
	if !taken {
		if t.busy == nil {
			t.busy = make(map[string][]chan struct{})
		}
		t.busy[key] = nil
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.busy[key] = append(waiting, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	for i, c := range t.busy[key] {
		if c == mine {
			t.busy[key] = append(t.busy[key][:i:i], t.busy[key][i+1:]...)
			t.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	t.mu.Unlock()
	t.give(key) // it was given the turn at the same moment
	return context.Cause(ctx)
}

// give lets the next one go.
func (t *turns) give(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.busy[key]
	if len(waiting) == 0 {
		delete(t.busy, key)
		return
	}
	t.busy[key] = waiting[1:]
	close(waiting[0])
}
