package main

import (
	"sync/atomic"

	"github.com/solotick/solotick/scheduler"
)

// readiness knows whether this replica runs what is due, and if not, why.
type readiness struct {
	up       atomic.Bool // the store answers
	draining atomic.Bool
}

// observe is a scheduler.Observer.
func (r *readiness) observe(e scheduler.Event) {
	switch e.(type) { //nolint:gochecksumtype // no other event says whether the store answers
	case scheduler.StoreUp:
		r.up.Store(true)
	case scheduler.StoreDown:
		r.up.Store(false)
	}
}

// why returns why this replica is not ready; "" when it is. ready is what the scheduler says.
func (r *readiness) why(ready bool) string {
	switch {
	case r.draining.Load():
		return "draining: it stops when its runs have ended, and starts no others"
	case ready:
		return ""
	case !r.up.Load():
		return "the store does not answer, so nothing starts; the log says what is wrong"
	default:
		return "starting: the records of the jobs are not read yet"
	}
}
