package daemon

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/scheduler"
)

// readiness knows whether this replica runs what is due, and if not, why.
type readiness struct {
	up       atomic.Bool // the store answers
	begun    atomic.Bool // it was ready before: the records of the jobs were read
	draining atomic.Bool
	clock    atomic.Pointer[scheduler.ClockStepped] // while the store's clock is not trusted; else nil
}

const storeAway = "the store does not answer, so nothing starts; the log says what is wrong"

// observe is a scheduler.Observer.
func (r *readiness) observe(e scheduler.Event) {
	switch e := e.(type) { //nolint:gochecksumtype // no other event says whether the store and its clock can be used
	case scheduler.StoreUp:
		r.up.Store(true)
	case scheduler.StoreDown:
		r.up.Store(false)
	case scheduler.ClockStepped:
		r.clock.Store(&e)
	case scheduler.ClockTrusted:
		r.clock.Store(nil)
	}
}

// why returns why this replica is not ready; "" when it is. ready is what the scheduler says.
func (r *readiness) why(ready bool) string {
	switch {
	case r.draining.Load():
		return "draining: it stops when its runs have ended, and starts no others"
	case ready:
		r.begun.Store(true)
		return ""
	case !r.up.Load():
		return storeAway
	}
	switch step := r.clock.Load(); {
	case step != nil && step.Start:
		return fmt.Sprintf("the store's clock is %s ahead of this machine's, and no live replica trusts it: nothing is claimed until one does, "+
			"or it has been steady for a while; check the time on the store's machine and on this one", step.By.Round(time.Millisecond))
	case step != nil:
		return fmt.Sprintf("the store's clock has stepped by %s: nothing is claimed until it is back, or has been steady for a while on all replicas; "+
			"check the time on the store's machine", step.By.Round(time.Millisecond))
	case r.begun.Load(): // the event that says so is on its way
		return storeAway
	default:
		return "starting: the records of the jobs are not read yet"
	}
}
