// Package runs counts what a replica runs ([Count]), and remembers which of it fails ([Failing]).
package runs

import (
	"sync"
	"sync/atomic"
	"time"
)

// Count counts the runs that must end before the scheduler stops.
type Count struct {
	total atomic.Int64

	mu   sync.Mutex
	zero chan struct{} // closed when total falls to 0; nil when nobody waits
}

// Add counts one run more.
func (t *Count) Add() { t.total.Add(1) }

// Remove counts one run less.
func (t *Count) Remove() {
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

// Wait waits until no run remains, for at most d and until cut is closed, and reports whether none
// remains.
func (t *Count) Wait(d time.Duration, cut <-chan struct{}) bool {
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
