package fence

import (
	"context"
	"fmt"
	"sync"

	"github.com/solotick/solotick/internal/fencing"
)

// Memory remembers the newest token of each resource in this process: for tests, and for data of
// this process only. It forgets nothing while the process runs, so it grows with the number of
// resources. The zero value is ready to use. It is safe for concurrent use.
type Memory struct {
	mu        sync.Mutex
	resources map[string]*resource
}

type resource struct {
	free   chan struct{} // holds one element while no call uses newest
	newest int64
}

// Raise remembers token as the newest of the resource. If the resource has seen a higher one, Raise
// returns a [*StaleError]. It waits for writes of [Memory.Do] in progress; if ctx ends first, the
// error matches that of ctx.
func (m *Memory) Raise(ctx context.Context, resource string, token int64) error {
	return m.Do(ctx, resource, token, func() error { return nil })
}

// Do calls [Memory.Raise] and then write, in one step: Memory compares no other token of the
// resource until write has returned.
//
// It returns the error of write, and remembers the token in any case. write must not call m for the
// same resource.
func (m *Memory) Do(ctx context.Context, resource string, token int64, write func() error) error {
	if err := fencing.Validate(resource, token); err != nil {
		return err
	}
	r := m.of(resource)
	select {
	case <-r.free:
	case <-ctx.Done():
		return fmt.Errorf("fence: %q: not written: %w", resource, context.Cause(ctx))
	}
	defer func() { r.free <- struct{}{} }()
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
		r = &resource{free: make(chan struct{}, 1)}
		r.free <- struct{}{}
		m.resources[name] = r
	}
	return r
}
