package admission

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Inflight limits how many contenders ask the store at one time, so that a store which is slow or
// saturated makes the fleet later, not busier. A tick that comes due meanwhile waits in a queue,
// where it costs nothing, and is planned again at the head of it. Renewals do not wait with it, and
// settlements not for long: see [Queue].
//
// The limit is found by additive increase and multiplicative decrease, with slow start. See Chiu
// and Jain, Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
// Networks, 1989; and Jacobson, Congestion Avoidance and Control, 1988. Congestion is an answer
// that took longer than the target, beyond what the best of late took. So a store that is merely
// far away is none. The later the answer, the more is cut.
type Inflight struct {
	target time.Duration

	mu        sync.Mutex
	used      int
	limit     float64
	threshold float64   // below it the limit doubles in each round trip
	cut       time.Time // when the limit was decreased last; requests from before say nothing new
	best      time.Duration
	bestAt    time.Time
	lastHeld  time.Time     // when a contender was let in that had waited for long
	waited    time.Duration // for how long it had
}

const (
	leastInflight = 4
	firstInflight = 512
	mostInflight  = 8192
	// leastCut and mostCut bound the part of the limit that remains at congestion.
	leastCut, mostCut = 0.1, 0.7
	// mostDelay bounds the target: renewals wait behind the claims that the store has to answer.
	mostDelay = 100 * time.Millisecond
	// heldFor is from when on it counts that a contender had to wait.
	heldFor = plan.Promptly * time.Millisecond
	// bestFor is for how long a best round trip counts.
	bestFor = 30 * time.Second
)

// NewInflight returns an Inflight for a replica whose leases have that TTL.
func NewInflight(ttl time.Duration) *Inflight {
	return &Inflight{target: min(ttl/10, mostDelay), limit: firstInflight, threshold: mostInflight}
}

// enter reports whether one more may ask the store, and counts it if so. Then leave has to follow.
func (f *Inflight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used >= int(f.limit) {
		return false
	}
	f.used++
	return true
}

func (f *Inflight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used--
}

// Answered takes in how a call went that was made then.
func (f *Inflight) Answered(asked time.Time, err error) {
	now := time.Now()
	took := now.Sub(asked)
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := err != nil && !errors.Is(err, protocol.ErrRecord) // with that it has answered
	if !failed && (f.bestAt.IsZero() || took <= f.best || now.Sub(f.bestAt) > bestFor) {
		f.best, f.bestAt = took, now
	}
	goal := f.target + 2*f.best
	congested := failed || took > goal
	switch {
	case congested && !asked.After(f.cut):
	case failed:
		if f.limit > leastInflight {
			f.threshold = max(f.limit/2, leastInflight)
		}
		f.limit, f.cut = leastInflight, now
	case congested:
		f.limit = max(f.limit*min(max(float64(goal)/float64(took), leastCut), mostCut), leastInflight)
		f.threshold, f.cut = f.limit, now
	case 2*f.used < int(f.limit): // the limit is not what keeps it from more
	case f.limit < f.threshold:
		f.limit = min(f.limit+1, mostInflight)
	default:
		f.limit = min(f.limit+1/f.limit, mostInflight)
	}
}

// delayed takes in that a contender has waited for longer than it should.
func (f *Inflight) delayed(waited time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastHeld, f.waited = time.Now(), waited
}

// Delays returns when a contender was let in last that had waited for long, and for how long it
// had.
func (f *Inflight) Delays() (at time.Time, waited time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastHeld, f.waited
}

// Current returns how many may ask the store now.
func (f *Inflight) Current() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.limit)
}
