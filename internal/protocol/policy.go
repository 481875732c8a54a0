package protocol

import (
	"errors"
	"time"
)

// Policy is the part of a name's definition that binds every request, also one by a caller that
// does not know the definition. A [Sync] brings it, and the record keeps it. The zero Policy limits
// nothing.
type Policy struct {
	// Every and Burst limit how often triggers are accepted: one per Every on average, and at most
	// Burst at once after a rest. This is the generic cell rate algorithm, ITU-T I.371. Every 0
	// means no limit. Every is from 1 ms to 365 days, Burst from 1 to 1,000,000.
	Every time.Duration
	Burst int

	// Beside has each trigger open a tick of its own. Otherwise one that waits serves the triggers
	// that come meanwhile, too.
	Beside bool
	// NoTriggers has every trigger refused, with [ErrNoTriggers].
	NoTriggers bool

	// Jitter is how much later than its instant a tick may be due, at most.
	Jitter time.Duration

	// History is how many settled ticks of the name are kept to be looked at: from Remembered to
	// MaxHistory. 0 means [History].
	History int
}

// ErrNoTriggers is returned by [Controller.Trigger] for a name whose Policy refuses triggers.
var ErrNoTriggers = errors.New("lease: the name takes no triggers")

// Kept returns how many settled ticks are kept.
func (p Policy) Kept() int {
	if p.History == 0 {
		return History
	}
	return p.History
}

func (p Policy) check(f *faults) {
	if p.Every != 0 {
		f.check(p.Every >= time.Millisecond && p.Every <= maxEvery, "policy every", p.Every, "must be from 1ms to 8760h, or 0")
		f.check(p.Burst >= 1 && p.Burst <= maxBurst, "policy burst", p.Burst, "must be from 1 to 1000000")
	}
	f.check(p.Jitter >= 0, "policy jitter", p.Jitter, "must be at least 0")
	f.check(p.History == 0 || p.History >= Remembered && p.History <= MaxHistory, "policy history", p.History, "must be from 16 to 1000, or 0")
}
