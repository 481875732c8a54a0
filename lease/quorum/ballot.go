package quorum

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// counterDigits is how many hexadecimal digits of a ballot are its counter. The rest is random for
// each attempt, so that no two attempts have the same ballot. Ballots compare as strings.
const counterDigits = 12

// ballotAbove makes a ballot that is higher than those whose counter is at most counter.
func ballotAbove(counter uint64) string {
	return fmt.Sprintf("%0*x%016x", counterDigits, counter+1, rand.Uint64())
}

// counterOf returns the counter of a ballot; 0 of any other text.
func counterOf(ballot string) uint64 {
	if len(ballot) < counterDigits {
		return 0
	}
	n, err := strconv.ParseUint(ballot[:counterDigits], 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// sights are the highest counters that were seen of keys, so that the first ballot is high enough.
type sights struct {
	mu    sync.Mutex
	byKey map[string]sight
}

type sight struct {
	counter uint64
	at      time.Time
}

// others is how long a counter is expected to stay as it is. A ballot is higher the longer ago the
// key was looked at, for others may have changed the value meanwhile. 48 bits last for more than a
// century.
const others = 16 * time.Microsecond

// mostSights bounds them; to forget one costs a round trip.
const mostSights = 1 << 17

// see takes in the ballots of answers to the proposals.
func (s *sights) see(open []*proposal, answers []answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil || len(s.byKey) > mostSights {
		s.byKey = make(map[string]sight)
	}
	now := time.Now()
	for _, a := range answers {
		for i, p := range open {
			reply := a.state.Replies[i]
			highest := max(counterOf(max(reply.Promised, reply.Accepted)), counterOf(p.ballot))
			if highest >= s.byKey[p.key].counter {
				s.byKey[p.key] = sight{highest, now}
			}
		}
	}
}

// above returns a ballot that is above all that were seen of the key, and likely above those of
// others since.
func (s *sights) above(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, ok := s.byKey[key]
	if !ok {
		return ballotAbove(0)
	}
	return ballotAbove(seen.counter + uint64(max(0, time.Since(seen.at)/others)))
}

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
