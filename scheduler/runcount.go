package scheduler

import (
	"sync"
	"sync/atomic"
	"time"
)

// runCount counts the runs that have to end before Run returns.
type runCount struct {
	total atomic.Int64

	mu   sync.Mutex
	zero chan struct{} // closed when total falls to 0; nil when nobody waits
}

func (t *runCount) add() { t.total.Add(1) }

func (t *runCount) remove() {
	if t.total.Add(-1) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.zero != nil && t.total.Load() == 0 {
		close(t.zero)
		t.zero = nil
	}
}

// wait waits until nothing remains, for d at most and not after cut is closed, and reports whether
// nothing is.
func (t *runCount) wait(d time.Duration, cut <-chan struct{}) bool {
	t.mu.Lock()
	if t.total.Load() == 0 {
		t.mu.Unlock()
		return true
	}
	if t.zero == nil {
		t.zero = make(chan struct{})
	}
	zero := t.zero
	t.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-zero:
		return true
	case <-timer.C:
		return false
	case <-cut:
		return false
	}
}
