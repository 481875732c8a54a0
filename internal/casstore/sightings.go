package casstore

import (
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// sight is when this process has seen a nonce of a lease for the first time.
type sight struct {
	token int64
	nonce uint64
	since steady.Instant
}

// ends is when the lease is over for this process: nobody has renewed it in that time. The rest is
// for clocks that run at different speeds.
func (s sight) ends(ttl time.Duration) steady.Instant {
	return s.since.Add(ttl + ttl/100 + 5*time.Millisecond)
}

// sightings are what this process has seen of values.
type sightings struct {
	mu   sync.Mutex
	keys map[string]sighting
}

type sighting struct {
	value  *stored // as it was last; nil when it may be another one
	leases []sight // of its leases, in their order
	stamp  int64   // the greatest of its stamps
}

// mostSightings bounds them. A lease whose sighting is missing is seen again for its whole TTL.
const mostSightings = 1 << 15

// see notes a value that was seen just now, and returns since when each of its leases was.
func (s *sightings) see(key string, st *stored) []sight {
	now := steady.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seeLocked(key, st, now)
}

func (s *sightings) seeLocked(key string, st *stored, now steady.Instant) []sight {
	before, known := s.keys[key]
	leases := make([]sight, len(st.Leases))
	for i, l := range st.Leases {
		leases[i] = sight{l.Token, l.Nonce, now}
		j := slices.IndexFunc(before.leases, func(b sight) bool { return b.token == l.Token && b.nonce == l.Nonce })
		if j >= 0 {
			leases[i].since = before.leases[j].since
		}
	}
	if s.keys == nil {
		s.keys = make(map[string]sighting)
	}
	if !known && len(s.keys) >= mostSightings {
		for other := range s.keys {
			delete(s.keys, other)
			break
		}
	}
	s.keys[key] = sighting{st, leases, max(before.stamp, st.Stamp)}
	return leases
}

// watched notes a value that a watch has brought, maybe after a newer one was seen.
func (s *sightings) watched(key string, st *stored) {
	now := steady.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.keys[key]
	switch {
	case before.value != nil && before.value.revision >= st.revision && st.revision != 0:
	case known || len(st.Leases) > 0:
		s.seeLocked(key, st, now)
	}
}

// last returns the value that was seen last, nil when there is none.
func (s *sightings) last(key string) (*stored, []sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[key]
	return known.value, known.leases
}

// doubt says that the value of a key may be another one by now. What was seen of leases stays: a
// nonce that is still there was there all the time.
func (s *sightings) doubt(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubtLocked(key)
}

func (s *sightings) doubtAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.keys {
		s.doubtLocked(key)
	}
}

// forget says that values may be as they were long ago: a nonce may be one that its holder has
// replaced since.
func (s *sightings) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, known := range s.keys {
		s.keys[key] = sighting{stamp: known.stamp}
	}
}

func (s *sightings) doubtLocked(key string) {
	if known, ok := s.keys[key]; ok {
		known.value = nil
		s.keys[key] = known
	}
}

// least is the least stamp of a value that is made: tokens rise also when the clock of the servers
// was set back since one of that key was removed.
func (s *sightings) least(key string, stamp int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(stamp, s.keys[key].stamp+1)
}
