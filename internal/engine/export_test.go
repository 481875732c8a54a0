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
	s.decoded.mu.Lock()
	defer s.decoded.mu.Unlock()
	for key, d := range s.decoded.byKey {
		list = append(list, Decoding{key, driver.Value{Version: d.version, Data: d.data}, d.record})
	}
	return list
}

// TakesDecoding reports whether s has the record of v decoded, and takes it.
func (s *Session) TakesDecoding(key string, v driver.Value) bool {
	return s.decoded.take(key, v) != nil
}
