package casstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/casstore"
)

// memory is a medium in this process.
type memory struct {
	mu       sync.Mutex
	kept     map[string]casstore.Kept
	revision uint64
	ahead    time.Duration
	watchers map[chan change]bool
	broken   error            // of every call, when it is not nil
	before   func(key string) // a put, without the lock
}

type change struct {
	key  string
	kept casstore.Kept
}

func newMemory() *memory {
	return &memory{kept: map[string]casstore.Kept{}, watchers: map[chan change]bool{}}
}

func (m *memory) lock(ctx context.Context) (unlock func(), err error) {
	m.mu.Lock()
	if err := errors.Join(context.Cause(ctx), m.broken); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	return m.mu.Unlock, nil
}

func (m *memory) Get(ctx context.Context, keys []string) ([]casstore.Kept, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list := make([]casstore.Kept, len(keys))
	for i, key := range keys {
		list[i] = m.kept[key]
	}
	return list, nil
}

func (m *memory) Exists(ctx context.Context, key string) (bool, error) {
	list, err := m.Get(ctx, []string{key})
	return err == nil && list[0].Revision != 0, err
}

func (m *memory) Put(ctx context.Context, key string, data []byte, from uint64) (casstore.Kept, bool, error) {
	if m.before != nil {
		m.before(key)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return casstore.Kept{}, false, err
	}
	defer unlock()
	if present := m.kept[key]; present.Revision != from {
		return present, false, nil
	}
	return m.putLocked(key, data), true, nil
}

func (m *memory) putLocked(key string, data []byte) casstore.Kept {
	m.revision++
	kept := casstore.Kept{Data: slices.Clone(data), Revision: m.revision}
	if data == nil {
		kept = casstore.Kept{}
		delete(m.kept, key)
	} else {
		m.kept[key] = kept
	}
	for w := range m.watchers {
		select {
		case w <- change{key, kept}:
		default:
			close(w)
			delete(m.watchers, w)
		}
	}
	return kept
}

func (m *memory) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	for key := range m.kept {
		if strings.HasPrefix(key, prefix) && key > cursor {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > count {
		return keys[:count], keys[count-1], nil
	}
	return keys, "", nil
}

func (m *memory) Watch(ctx context.Context, changed func(string, casstore.Kept), missed func()) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	w := make(chan change, 1<<12)
	m.watchers[w] = true
	unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, w)
	}()
	missed()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case c, ok := <-w:
			if !ok {
				return errors.New("cut off")
			}
			changed(c.key, c.kept)
		}
	}
}

func (m *memory) Clock(ctx context.Context) (time.Time, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	return time.Now().Add(m.ahead), nil
}

// forget empties the medium, and cuts off who watches.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.kept)
	for w := range m.watchers {
		close(w)
		delete(m.watchers, w)
	}
}

// step moves the clock of the servers.
func (m *memory) step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += d
}
