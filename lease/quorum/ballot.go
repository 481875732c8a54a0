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
