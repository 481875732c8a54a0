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
