package admission

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"errors"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Inflight limits how many workers ask the store at the same time, so that a slow or saturated
// store makes the fleet later and not busier. Ticks that come due meanwhile wait in the [Queue],
// and are planned again when they leave it. Renewals do not wait there, and settlements only for a
// short time.
//
// The limit follows additive increase and multiplicative decrease, with slow start. See Chiu and
// Jain, Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer
// Networks, 1989; and Jacobson, Congestion Avoidance and Control, 1988. An answer means congestion
// if it took longer than the target plus twice the best round trip of late. So a store that is only
// far away does not count as congested. The longer the answer took, the more the limit is cut.
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
	// leastCut and mostCut are the smallest and the greatest part of the limit that remains after
	// congestion.
	leastCut, mostCut = 0.1, 0.7
	// mostDelay bounds the target, because renewals wait behind the claims that the store has to
	// answer.
	mostDelay = 100 * time.Millisecond
	// heldFor is how long a worker may wait before it counts as delayed.
	heldFor = plan.Promptly * time.Millisecond
	// bestFor is how long a best round trip counts.
	bestFor = 30 * time.Second
)

// NewInflight returns an Inflight for a replica with leases of that TTL.
func NewInflight(ttl time.Duration) *Inflight {
	return &Inflight{target: min(ttl/10, mostDelay), limit: firstInflight, threshold: mostInflight}
}

// enter counts one more call under way, and returns false if there may be no more. After true,
// leave must follow.
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

// Answered adjusts the limit to the result of a call that was made at asked.
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

// delayed records that a worker waited for longer than heldFor.
func (f *Inflight) delayed(waited time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastHeld, f.waited = time.Now(), waited
}

// Delays returns when the last delayed worker was admitted, and how long it had waited.
func (f *Inflight) Delays() (at time.Time, waited time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastHeld, f.waited
}

// Current returns the present limit.
func (f *Inflight) Current() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.limit)
}
