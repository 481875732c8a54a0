package driver

import (
	"slices"

	"github.com/solotick/solotick/internal/record"
)

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
		m.items = make(map[string]*kept)
		for key, it := range saved {
			m.items[key] = &kept{Item: it}
		}
	}
}

// Decoding is a record that is kept decoded.
type Decoding struct {
	Key    string
	Value  Value // without leases
	Record *record.Record
}

// Decodings returns the records that s keeps decoded, which must not be changed.
func (s *Session) Decodings() (list []Decoding) {
	s.decoded.mu.Lock()
	defer s.decoded.mu.Unlock()
	for key, d := range s.decoded.byKey {
		list = append(list, Decoding{key, Value{Version: d.version, Data: d.data}, d.record})
	}
	return list
}

// TakesDecoding reports whether s has the record of v decoded, and takes it.
func (s *Session) TakesDecoding(key string, v Value) bool { return s.decoded.take(key, v) != nil }
