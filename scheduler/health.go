package scheduler

import (
	"sync"
	"time"
)

// health watches how the store answers.
type health struct {
	observe Observer

	mu      sync.Mutex
	up      bool
	since   time.Time // up: the first good answer after the last trouble; down: the first error
	trouble chan struct{}
}

// slow is how long a good answer takes at most.
const slow = 500 * time.Millisecond

func newHealth(observe Observer) *health {
	return &health{observe: observe, since: time.Now(), trouble: make(chan struct{}, 1)}
}

// report takes in one call of the store. recovered tells that it is the first to succeed after an error.
func (h *health) report(took time.Duration, err error) (recovered bool) {
	h.mu.Lock()
	now := time.Now()
	away := now.Sub(h.since)
	was := h.up
	switch {
	case err != nil:
		if was {
			h.up, h.since = false, now
		}
		select {
		case h.trouble <- struct{}{}: // wake-ups may coalesce
		default:
		}
	case !was:
		h.up, h.since = true, now
	case took > slow:
		h.since = now
	}
	h.mu.Unlock()
	switch {
	case err != nil && was:
		h.observe(StoreDown{Err: err})
	case err == nil && !was:
		h.observe(StoreUp{Away: away})
		return true
	}
	return false
}

// steady returns for how long the store has answered without trouble.
func (h *health) steady() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.up {
		return 0
	}
	return time.Since(h.since)
}

func (h *health) isUp() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.up
}
