package engine

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// known has the values that were seen last, and the records that some of them were decoded to.
type known struct {
	mu      sync.Mutex
	byKey   map[string]*sighting
	decoded int // how many have a record
}

// sighting is a value, in few bytes: there is one for each job.
type sighting struct {
	value driver.Value
	// record is the result of [record.Record.Decode] for the value, without the ends of leases; nil if
	// it is not kept. Rules change a record in place, so each has one owner: the sighting, or the
	// caller that took it and may put it back.
	record *record.Record
}

const (
	// maxKnown bounds the values. One that is missing costs a round trip.
	maxKnown = 1 << 14
	// maxDecoded bounds the records that are kept decoded. Each takes about 4 KiB, and a missing one
	// costs a call of Decode.
	maxDecoded = 1 << 12
)

// get returns the value of a key that was seen last.
func (k *known) get(key string) (driver.Value, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byKey[key]
	if s == nil {
		return driver.Value{}, false
	}
	return s.value, true
}

// set notes the present value of a key.
func (k *known) set(key string, v driver.Value) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byKey[key]
	if s == nil {
		if k.byKey == nil {
			k.byKey = make(map[string]*sighting)
		}
		if len(k.byKey) >= maxKnown {
			k.dropLocked(anyKey(k.byKey, func(*sighting) bool { return true }))
		}
		s = new(sighting)
		k.byKey[key] = s
	}
	if !same(s.value, v) {
		k.forgetLocked(s)
	}
	s.value = v
}

// same compares the bytes and not only the version, in case the versions of a store are not unique.
func same(v, w driver.Value) bool { return v.Version == w.Version && bytes.Equal(v.Data, w.Data) }

func (k *known) forgetLocked(s *sighting) {
	if s.record != nil {
		s.record = nil
		k.decoded--
	}
}

func (k *known) drop(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(key)
}

func (k *known) dropLocked(key string) {
	if s := k.byKey[key]; s != nil {
		k.forgetLocked(s)
		delete(k.byKey, key)
	}
}

func anyKey(byKey map[string]*sighting, is func(*sighting) bool) string {
	for key, s := range byKey {
		if is(s) {
			return key
		}
	}
	return ""
}

// extend notes that a lease was renewed.
func (k *known) extend(key string, token int64, ends time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byKey[key]
	if s == nil {
		return
	}
	s.value.Leases = slices.Clone(s.value.Leases) // others have the list
	for i := range s.value.Leases {
		if l := &s.value.Leases[i]; l.Token == token {
			l.Ends = ends
		}
	}
}

// take removes and returns the record of v, or nil if there is none.
func (k *known) take(key string, v driver.Value) *record.Record {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byKey[key]
	if s == nil || !same(s.value, v) {
		return nil
	}
	r := s.record
	k.forgetLocked(s)
	return r
}

// put keeps the record of v if that is still the value that was seen last.
func (k *known) put(key string, v driver.Value, r *record.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.byKey[key]
	if s == nil || v.Data == nil || !same(s.value, v) {
		return
	}
	if k.forgetLocked(s); k.decoded >= maxDecoded {
		k.forgetLocked(k.byKey[anyKey(k.byKey, func(s *sighting) bool { return s.record != nil })])
	}
	s.record = r
	k.decoded++
}

// decode sets the state from the value.
func (s *Session) decode(w *work, ends func(token int64) time.Time) error {
	if r, ok := w.state.(*record.Record); ok {
		if decoded := s.known.take(w.key, w.value); decoded != nil {
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
	s.known.put(w.key, v, kept)
}

// fewLeases is how many leases a lookup compares one by one. Most values have one or none.
const fewLeases = 8

// leaseIndex finds the leases of a value by their tokens, and remembers which were taken.
type leaseIndex struct {
	list    []driver.Lease
	byToken map[int64]int // of more than a few, their places
	taken   []bool
	few     [fewLeases]bool // what taken is of a few
}

// index replaces the list. None of its leases is taken.
func (x *leaseIndex) index(list []driver.Lease) {
	*x = leaseIndex{list: list}
	x.taken = x.few[:min(len(list), fewLeases)]
	if len(list) > fewLeases {
		x.taken = make([]bool, len(list))
		x.byToken = make(map[int64]int, len(list))
		for i, l := range list {
			x.byToken[l.Token] = i
		}
	}
}

// find returns the position of the lease with that token, or -1.
func (x *leaseIndex) find(token int64) int {
	if x.byToken == nil {
		return slices.IndexFunc(x.list, func(l driver.Lease) bool { return l.Token == token })
	}
	if i, ok := x.byToken[token]; ok {
		return i
	}
	return -1
}

// ends returns when the lease with that token ends, or the zero time.
func (x *leaseIndex) ends(token int64) time.Time {
	if i := x.find(token); i >= 0 {
		return x.list[i].Ends
	}
	return time.Time{}
}

// take returns a lease and marks it as taken.
func (x *leaseIndex) take(token int64) (l driver.Lease, known bool) {
	i := x.find(token)
	if i < 0 {
		return driver.Lease{}, false
	}
	x.taken[i] = true
	return x.list[i], true
}

// rest appends the tokens of the leases that were not taken.
func (x *leaseIndex) rest(tokens []int64) []int64 {
	for i, l := range x.list {
		if !x.taken[i] {
			tokens = append(tokens, l.Token)
		}
	}
	return tokens
}
