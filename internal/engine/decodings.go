package engine

import (
	"bytes"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// decodings keeps decoded records, at most one for each key: that of the last value. Rules change a
// record in place, so each has one owner: the map, or the caller that took it and may put it back.
type decodings struct {
	mu    sync.Mutex
	byKey map[string]decoding
}

// decoding is the result of [record.Record.Decode], without the ends of leases.
type decoding struct {
	version driver.Version
	data    []byte
	record  *record.Record
}

// maxDecodings bounds how many decoded records are kept. Each takes about 4 KiB, and a missing one
// costs a call of Decode.
const maxDecodings = 1 << 12

// take removes and returns the record of v, or nil if there is none. It compares the bytes and not
// only the version, in case the versions of a store are not unique.
func (d *decodings) take(key string, v driver.Value) *record.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept, ok := d.byKey[key]
	if !ok {
		return nil
	}
	delete(d.byKey, key)
	if kept.version != v.Version || !bytes.Equal(kept.data, v.Data) {
		return nil
	}
	return kept.record
}

// put returns the record of v to the map.
func (d *decodings) put(key string, v driver.Value, r *record.Record) {
	if v.Data == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey == nil {
		d.byKey = make(map[string]decoding)
	}
	if _, known := d.byKey[key]; !known && len(d.byKey) >= maxDecodings {
		for other := range d.byKey {
			delete(d.byKey, other)
			break
		}
	}
	d.byKey[key] = decoding{version: v.Version, data: v.Data, record: r}
}

// decode sets the state from the value.
func (s *Session) decode(w *work, ends func(token int64) time.Time) error {
	if r, ok := w.state.(*record.Record); ok {
		if decoded := s.decoded.take(w.key, w.value); decoded != nil {
			*r, w.spare = *decoded, decoded
			r.SetEnds(ends)
			return nil
		}
	}
	return w.state.Decode(name(w.key), w.value.Data, w.value.Version.Stamp, ends)
}

// keep keeps the state, which was encoded as v with that token for the stamp, for the next rule. It
// keeps records with open ticks, and those that were kept before. Others may never be needed again,
// and there is one for each job. The caller must decode the state before it uses it again.
func (s *Session) keep(w *work, v driver.Value, guessed int64) {
	r, ok := w.state.(*record.Record)
	if !ok || w.spare == nil && len(r.Open) == 0 || w.known != nil || !r.Stored(name(w.key), guessed, v.Version.Stamp) {
		return
	}
	kept := w.spare
	if w.spare = nil; kept == nil {
		kept = new(record.Record)
	}
	*kept, *r = *r, record.Record{}
	s.decoded.put(w.key, v, kept)
}
