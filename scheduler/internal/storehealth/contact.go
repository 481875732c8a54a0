package storehealth

import (
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/contact"
	"github.com/solotick/solotick/internal/steady"
)

const (
	// leastGap and mostGap bound the gap that ends the contact, which is a third of the TTL. A
	// holder that could not renew for that long has as much time again to do it.
	leastGap, mostGap = 300 * time.Millisecond, 3500 * time.Millisecond
	// mostSilent is how long a replica that has lost its notifications waits for them before other
	// answers count as contact. The permission to subscribe may be gone for good.
	mostSilent = time.Minute
)

// Contact is a replica's contact with the store: see ContactSince of [protocol.Claim].
type Contact struct {
	*contact.Contact
	watched atomic.Int64 // until when leases of others run that this replica may take over, in Unix ms of fleet time
	silent  atomic.Int64 // the instant at which notifications ceased to arrive; 0 while they do, or never did
}

// NewContact returns the contact of a replica with leases of that TTL, which the store has not
// answered yet.
func NewContact(ttl time.Duration) *Contact {
	return &Contact{Contact: contact.New(min(max(ttl/3, leastGap), mostGap))}
}

// Listening ends the contact when notifications stop or arrive again. In between, one of several
// servers may have been out of reach although others answered.
func (c *Contact) Listening(is bool) {
	switch {
	case !is:
		c.silent.Store(int64(steady.Now()))
	case c.silent.Swap(0) == 0:
		return // for the first time
	}
	c.End()
}

// Watch notes that this replica may take over a lease that runs out at a time, in Unix ms of fleet
// time.
func (c *Contact) Watch(at int64) {
	for {
		until := c.watched.Load()
		if until >= at || c.watched.CompareAndSwap(until, at) {
			return
		}
	}
}

// Watches reports whether this replica may take over a lease that runs out later than now or ran
// out a moment ago, so that the contact must last.
func (c *Contact) Watches(now int64) bool {
	return c.watched.Load()+mostGap.Milliseconds() >= now
}

// Lasts returns when the contact began, when it ends if nothing else is answered, and whether there
// is any now.
func (c *Contact) Lasts(now steady.Instant) (since, until steady.Instant, ok bool) {
	silent := steady.Instant(c.silent.Load())
	since, until, ok = c.Since(now)
	return since, until, ok && (silent == 0 || silent.Until(now) > mostSilent)
}

// Failures follows how the requests about one job fail. If the store has several servers, others may
// have answered meanwhile.
type Failures struct {
	row     int32          // how many failed in a row
	since   steady.Instant // when the first of them was sent; 0 when there is none
	contact steady.Instant // when the store answered again after a longer time of failures
}

// firstRetry and lastRetry bound the wait after a failure, which doubles each time, in ms. It ends
// early when the store answers again.
const firstRetry, lastRetry = 50, 1000

// Add records a request that was sent then and failed, and returns after how many ms to send it again.
func (f *Failures) Add(sent steady.Instant) (wait int64) {
	if f.since == 0 {
		f.since = sent
	}
	wait = min(int64(firstRetry)<<min(f.row, 10), lastRetry)
	f.row++
	return wait
}

// Answered records that a request was answered now. gap is what ends the contact.
func (f *Failures) Answered(now steady.Instant, gap time.Duration) {
	if f.silent(now, gap) {
		f.contact = now
	}
	f.row, f.since = 0, 0
}

// silent reports whether the requests have failed for so long that those of a holder may have failed
// too.
func (f *Failures) silent(now steady.Instant, gap time.Duration) bool {
	return f.since != 0 && f.since.Until(now) > gap
}

// LastsFor returns the contact with the part of the store that keeps a job, as Lasts does. reached is
// what the store says about that part.
func (c *Contact) LastsFor(f *Failures, now steady.Instant, reached func(gap time.Duration) (begun, ends steady.Instant, ok bool)) (since, until steady.Instant, ok bool) {
	since, until, ok = c.Lasts(now)
	if f.contact != 0 {
		since = max(since, f.contact)
	}
	if ok {
		var begun, ends steady.Instant
		if begun, ends, ok = reached(c.Gap()); begun != 0 {
			since, until = max(since, begun), min(until, ends)
		}
	}
	return since, until, ok && !f.silent(now, c.Gap())
}
