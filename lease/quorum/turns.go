package quorum

import (
	"context"
	"slices"
	"sync"
)

// turns lets those of this process that change the same register do so one after another, so that they do not contend.
// Only the other processes' are then in the way.
type turns struct {
	mu   sync.Mutex
	keys map[string]*turn
}

type turn struct {
	free  chan struct{} // holds an element while it is nobody's turn
	wants int
}

// take waits for the turn at all keys and returns what gives it back. Taken in order, they cannot block each other.
func (t *turns) take(ctx context.Context, keys []string) (give func(), err error) {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	var taken []string
	give = func() {
		for _, key := range taken {
			t.leave(key, true)
		}
	}
	for _, key := range keys {
		k := t.want(key)
		select {
		case <-k.free:
			taken = append(taken, key)
		case <-ctx.Done():
			t.leave(key, false)
			give()
			return nil, context.Cause(ctx)
		}
	}
	return give, nil
}

func (t *turns) want(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[key]
	if k == nil {
		if t.keys == nil {
			t.keys = make(map[string]*turn)
		}
		k = &turn{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		t.keys[key] = k
	}
	k.wants++
	return k
}

func (t *turns) leave(key string, had bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.keys[key]
	if had {
		k.free <- struct{}{}
	}
	if k.wants--; k.wants == 0 {
		delete(t.keys, key)
	}
}
