package scheduler

import (
	"sync"
	"time"
)

// health watches how the store answers.
type health struct {
	observe Observer

	mu       sync.Mutex
	up       bool
	changed  time.Time     // when up did, or the health was made
	answered time.Time     // when the latest of the calls that were answered was made
	troubled time.Time     // when there was trouble last; zero when there never was
	trouble  chan struct{} // of size 1
}

// slow is how long a good answer takes at most.
const slow = 500 * time.Millisecond

func newHealth(observe Observer) *health {
	return &health{observe: observe, changed: time.Now(), trouble: make(chan struct{}, 1)}
}

// absence is how long the store has to be down at least for its recovery to matter. One that answers some calls and fails
// others goes down and up all the time, and what fails must not be asked for again each time.
const absence = 200 * time.Millisecond

// report takes in one call of the store, which took so long until now. recovered tells that it is the first to succeed
// after an absence.
func (h *health) report(took time.Duration, err error) (recovered bool) {
	h.mu.Lock()
	now := time.Now()
	made, away, was := now.Add(-took), now.Sub(h.changed), h.up
	switch {
	case err != nil:
		h.troubled = now
		// That a call hung says nothing about a store which has answered later ones since.
		if was && !made.Before(h.answered) {
			h.up, h.changed = false, now
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
			h.up, h.changed = true, now
			if !h.troubled.IsZero() {
				h.troubled = now
			}
			recovered = away >= absence
		}
	}
	is := h.up
	h.mu.Unlock()
	switch {
	case was && !is:
		h.observe(StoreDown{Err: err})
	case is && !was:
		h.observe(StoreUp{Away: away})
	}
	return recovered
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

func (h *health) isUp() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.up
}
