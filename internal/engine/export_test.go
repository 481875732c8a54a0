package engine

import (
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// Decoding is a record that is kept decoded.
type Decoding struct {
	Key    string
	Value  driver.Value // without leases
	Record *record.Record
}

// Decodings returns the records that s keeps decoded, which must not be changed.
func (s *Session) Decodings() (list []Decoding) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	for key, at := range s.known.byKey {
		if at.record != nil {
			list = append(list, Decoding{key, driver.Value{Version: at.value.Version, Data: at.value.Data}, at.record})
		}
	}
	return list
}

// TakesDecoding reports whether s has the record of v decoded, and takes it.
func (s *Session) TakesDecoding(key string, v driver.Value) bool {
	return s.known.take(key, v) != nil
}
