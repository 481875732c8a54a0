// Package runs counts what a replica runs ([Count]), and remembers which of it fails ([Failing]).
package runs

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease"
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

// Held are the leases of the ticks of one job that this replica runs, by tick. It is nil before the
// first.
type Held map[int64]*lease.Lease

// Add adds a lease.
func (h *Held) Add(l *lease.Lease) {
	if *h == nil {
		*h = make(Held, 1)
	}
	(*h)[l.Tick()] = l
}

// Remove removes a lease, unless a later attempt of its tick has another one by now.
func (h Held) Remove(l *lease.Lease) {
	if h[l.Tick()] == l {
		delete(h, l.Tick())
	}
}

// Valid reports whether one of the leases is good.
func (h Held) Valid() bool {
	for _, l := range h {
		if l.Valid() {
			return true
		}
	}
	return false
}

// Check renews the leases at once.
func (h Held) Check() {
	for _, l := range h {
		l.Check()
	}
}

// Last is when runs of a job were settled last, by their outcome, in Unix ms; 0 for never.
type Last struct{ Success, Failure int64 }

// Add remembers when a run was settled, and how.
func (t *Last) Add(outcome lease.Outcome, at int64) {
	switch outcome {
	case wire.Succeeded:
		t.Success = max(t.Success, at)
	case wire.Failed:
		t.Failure = max(t.Failure, at)
	default: // nobody's work ended
	}
}
