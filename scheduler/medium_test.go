package scheduler_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/scheduler"
)

// medium keeps the records of a fleet's replicas, each of which has a session of its own. It loses
// single records, and goes back to an earlier state. The members and their messages are the store's
// of the fleet.
type medium struct {
	mu     sync.Mutex
	since  time.Time
	ahead  time.Duration // of the clock
	items  map[string]driver.Item
	listen map[*func(driver.Notification)]bool
	lost   chan struct{} // closed when connections are lost
}

func newMedium() *medium {
	return &medium{
		since: time.Now(), items: map[string]driver.Item{}, listen: map[*func(driver.Notification)]bool{}, lost: make(chan struct{}),
	}
}

// forget drops a record.
func (m *medium) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, name)
}

// snapshot returns what brings everything back as it is now.
func (m *medium) snapshot() (goBack func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := copied(m.items)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.items = copied(saved)
	}
}

func copied(items map[string]driver.Item) map[string]driver.Item {
	items = maps.Clone(items)
	for key, it := range items {
		it.List, it.Value.Leases = slices.Clone(it.List), slices.Clone(it.Value.Leases)
		items[key] = it
	}
	return items
}

// step moves the clock.
func (m *medium) step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += d
}

// disconnect ends all subscriptions, as a server does that is restarted.
func (m *medium) disconnect() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.lost)
	m.lost = make(chan struct{})
}

func (m *medium) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	m.mu.Lock()
	results, now := make([]driver.Result, len(ops)), time.Now().Add(m.ahead).UTC()
	var notify []driver.Notification
	for i, op := range ops {
		it := m.items[op.Key]
		var changed bool
		if results[i], changed = it.Do(op, now); changed {
			m.items[op.Key] = it
		}
		if op.Change != nil && results[i].Status == driver.Done {
			notify = append(notify, op.Change.Notify...)
		}
	}
	listen := slices.Collect(maps.Keys(m.listen))
	m.mu.Unlock()
	for _, n := range notify {
		for _, f := range listen {
			(*f)(n)
		}
	}
	return results
}

func (m *medium) Scan(_ context.Context, prefix, _ string, _ int) (keys []string, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.items {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, "", nil
}

func (m *medium) Time(context.Context) (now, since time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.ahead).UTC(), m.since, nil
}

var errDisconnected = errors.New("the connection is lost")

func (m *medium) Subscribe(ctx context.Context, notify func(driver.Notification)) error {
	m.mu.Lock()
	m.listen[&notify] = true
	lost := m.lost
	m.mu.Unlock()
	notify(driver.Notification{})
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listen, &notify)
	}()
	return until(ctx, lost)
}

func until(ctx context.Context, lost <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-lost:
		return errDisconnected
	}
}

// startApart starts replicas named a, b, c and so on, each with a session of its own over m.
func (f *fleet) startApart(m *medium, n int, options ...scheduler.Option) (list []*replica) {
	f.t.Helper()
	for i := range n {
		session, err := engine.NewSession(m, protocol.DefaultNamespace, engine.Options{})
		require.NoError(f.t, err)
		list = append(list, f.startBoth(string(rune('a'+i)), f.jobs, func(l *link) protocol.Store {
			l.Store = session
			return l
		}, options...))
	}
	return list
}
