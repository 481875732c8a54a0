package scheduler

import (
	"sync"
	"time"
)

// health watches how the store answers.
type health struct {
	observe func(Event)
	hint    func(error) string
	back    func(since time.Time) // is called when the store answers again, if it is not nil

	mu       sync.Mutex
	up       bool
	down     bool          // and an event has said so
	last     error         // what a call failed with last; nil when none has
	gone     time.Time     // when the first call was made that it left without an answer; zero while it is up
	changed  time.Time     // when up did, or the health was made
	answered time.Time     // when the latest of the calls that were answered was made
	troubled time.Time     // when there was trouble last; zero when there never was
	trouble  chan struct{} // of size 1
}

// slow is how long a good answer takes at most.
const slow = 500 * time.Millisecond

func newHealth(observe func(Event), hint func(error) string) *health {
	return &health{observe: observe, hint: hint, changed: time.Now(), trouble: make(chan struct{}, 1)}
}

// outageAfter is how long the store has to be down at least for its recovery to matter. One that
// answers some calls and fails others goes down and up all the time, and what fails must not be
// asked for again each time.
const outageAfter = 200 * time.Millisecond

// report takes in one call of the store, which took so long until now. recovered shows that it is
// the first to succeed after an absence.
func (h *health) report(took time.Duration, err error) (recovered bool) {
	h.mu.Lock()
	now := time.Now()
	made, away, was, said := now.Add(-took), now.Sub(h.changed), h.up, h.down
	gone := h.gone
	switch {
	case err != nil:
		h.troubled, h.last = now, err
		// That a call hung says nothing about a store which has answered later ones since.
		if was && !made.Before(h.answered) {
			h.up, h.changed = false, now
		}
		if h.down = !h.up; h.down && h.gone.IsZero() {
			h.gone = made
		}
		select {
		case h.trouble <- struct{}{}: // wake-ups may coalesce
		default:
		}
	case took > slow:
		h.troubled = now
		fallthrough
	default:
		if made.After(h.answered) {
			h.answered = made
		}
		if !was {
			h.up, h.down, h.changed, h.gone = true, false, now, time.Time{}
			if !h.troubled.IsZero() {
				h.troubled = now
			}
			recovered = away >= outageAfter
		}
	}
	is, down := h.up, h.down
	h.mu.Unlock()
	switch {
	case down && !said:
		h.observe(StoreChanged{Err: err, Hint: h.hint(err)})
	case is && !was:
		h.observe(StoreChanged{Up: true, Away: away})
		if h.back != nil && !gone.IsZero() {
			h.back(gone)
		}
	}
	return recovered
}

// shaken takes in that a connection to the store was lost, whether or not a call has failed for it.
func (h *health) shaken() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.troubled = time.Now()
}

// steady returns for how long the store has answered without trouble.
func (h *health) steady() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.up {
		return 0
	}
	return time.Since(h.troubled)
}

// lastError returns what a call failed with last.
func (h *health) lastError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

func (h *health) isUp() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.up
}
