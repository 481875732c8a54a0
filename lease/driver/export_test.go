package driver

import "slices"

// Snapshot returns what brings everything back that is kept now.
func (m *Memory) Snapshot() (restore func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := make(map[string]Item)
	for key, it := range m.items {
		saved[key] = Item{Value: it.Value, List: slices.Clone(it.List)}
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.items = make(map[string]*Item)
		for key, it := range saved {
			m.items[key] = &it
		}
	}
}
