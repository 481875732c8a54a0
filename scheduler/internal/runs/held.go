package runs

import (
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease"
)

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
