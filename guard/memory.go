package guard

import (
	"context"
	"fmt"
	"sync"
)

// Memory remembers the newest token of each resource in this process: for tests, and for what is in this process only. It
// forgets with the process, and never before it, so it grows with the number of resources. The zero value is ready. It is
// safe for concurrent use.
type Memory struct {
	mu        sync.Mutex
	resources map[string]*resource
}

type resource struct {
	turn   chan struct{} // holds one while nobody looks at newest
	newest int64
}

// Raise remembers token as the newest of the resource, unless the resource has seen a higher one: then the error is a
// [*StaleError]. It waits for the writes of [Memory.Do] that are under way for the resource; an error that matches that
// of ctx says that it did not wait to the end.
func (m *Memory) Raise(ctx context.Context, resource string, token int64) error {
	return m.Do(ctx, resource, token, func() error { return nil })
}

// Do is [Memory.Raise] and then write, in one step: no other token is compared for the resource until write has returned.
// It returns what write returns; the token is remembered also when that is an error. write must not call m for the same
// resource.
func (m *Memory) Do(ctx context.Context, resource string, token int64, write func() error) error {
	if err := Validate(resource, token); err != nil {
		return err
	}
	r := m.of(resource)
	select {
	case <-r.turn:
	case <-ctx.Done():
		return fmt.Errorf("guard: %q: not written: %w", resource, context.Cause(ctx))
	}
	defer func() { r.turn <- struct{}{} }()
	if token < r.newest {
		return &StaleError{Resource: resource, Token: token, Newest: r.newest}
	}
	r.newest = token
	return write()
}

func (m *Memory) of(name string) *resource {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.resources[name]
	if r == nil {
		if m.resources == nil {
			m.resources = make(map[string]*resource)
		}
		r = &resource{turn: make(chan struct{}, 1)}
		r.turn <- struct{}{}
		m.resources[name] = r
	}
	return r
}
