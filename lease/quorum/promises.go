package quorum

import (
	"sync"
	"time"
)

// promises are those that a majority has given for ballots at which nothing was proposed, with the
// value that it showed then. That is the present value for as long as nobody is promised a higher
// ballot, and then nothing is accepted at this one. So a change can be made of it, and nothing can
// be answered from it.
type promises struct {
	mu    sync.Mutex
	byKey map[string]promise
}

type promise struct {
	ballot string
	seen   view
}

const (
	// promiseLasts bounds the time that is measured by this process's clock rather than by the nodes'.
	promiseLasts = 100 * time.Millisecond
	// mostPromises bounds them; to forget one costs a round trip.
	mostPromises = 1 << 12
)

// keep keeps the promise of a proposal that is done.
func (s *promises) keep(p *proposal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil || len(s.byKey) >= mostPromises {
		s.byKey = make(map[string]promise)
	}
	s.byKey[p.key] = promise{p.ballot, p.seen}
}

// use gives a promise of its key to a proposal that has not asked for one yet. Nobody else uses it:
// at one ballot only one value may be proposed.
func (s *promises) use(p *proposal) (v view, ok bool) {
	if p.ballot == "" || !p.seen.received.IsZero() {
		return view{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.byKey[p.key]
	delete(s.byKey, p.key)
	if !ok || time.Since(kept.seen.received) > promiseLasts {
		return view{}, false
	}
	p.ballot = kept.ballot
	kept.seen.chosen = false // by now it may be another value
	for id := range kept.seen.stamps {
		kept.seen.stamps[id] += int64(kept.seen.round) // leases begin now, and not when a node promised
	}
	return kept.seen, true
}
