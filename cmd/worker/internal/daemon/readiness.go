package daemon

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/scheduler"
)

// readiness records whether this replica runs the ticks that are due, and why not.
type readiness struct {
	up       atomic.Bool // the store answers, and takes writes
	refuses  atomic.Bool // it answers, and fails writes
	begun    atomic.Bool // it was ready before: it has read the records of the jobs
	draining atomic.Bool
	clock    atomic.Pointer[scheduler.ClockChanged] // nil while the store's clock is trusted
}

const (
	storeDown    = "the store does not answer, so no run starts; the log has the reason"
	storeRefuses = "the store fails writes, so no run starts; the log has the reason"
)

// observe observes the scheduler.
func (r *readiness) observe(e scheduler.Event) {
	switch e := e.(type) { //nolint:gochecksumtype // no other event is about the store or its clock
	case scheduler.StoreChanged:
		r.up.Store(e.Up)
		r.refuses.Store(e.WritesOnly && !e.Up)
	case scheduler.ClockChanged:
		if e.Trusted {
			r.clock.Store(nil)
		} else {
			r.clock.Store(&e)
		}
	}
}

// reason returns why this replica is not ready, or an empty text when it is. ready is reported by
// the scheduler.
func (r *readiness) reason(ready bool) string {
	switch {
	case r.draining.Load():
		return "draining: the replica starts no runs, and stops when its runs have ended"
	case ready:
		r.begun.Store(true)
		return ""
	case r.refuses.Load():
		return storeRefuses
	case !r.up.Load():
		return storeDown
	}
	switch step := r.clock.Load(); {
	case step != nil && step.Start:
		return fmt.Sprintf("the store's clock is %s ahead of this machine's, and no live replica trusts it: the replica claims no ticks until one does, "+
			"or the clock has been steady for a while; check the time on the store's machine and on this one", step.By.Round(time.Millisecond))
	case step != nil:
		return fmt.Sprintf("the store's clock has stepped by %s: the replica claims no ticks until it is back, or has been steady for a while on all replicas; "+
			"check the time on the store's machine", step.By.Round(time.Millisecond))
	case r.begun.Load(): // the event of the store will follow
		return storeDown
	default:
		return "starting: the replica has not read the records of the jobs yet"
	}
}
