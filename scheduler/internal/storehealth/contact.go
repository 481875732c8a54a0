package storehealth

import (
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/contact"
	"github.com/solotick/solotick/internal/steady"
)

const (
	// leastGap and mostGap bound the gap that ends the contact with the store, which is a third of
	// the TTL: a holder that could not renew for so long has as much time again to do it.
	leastGap, mostGap = 300 * time.Millisecond, 3500 * time.Millisecond
	// mostSilent is for how long a replica that has lost its notifications waits for them before it
	// relies on other answers. The permission to subscribe may be gone for good.
	mostSilent = time.Minute
)

// Contact is a replica's contact with the store: see ContactSince of [protocol.Claim].
type Contact struct {
	*contact.Contact
	watched atomic.Int64 // until when leases of others run that this replica may take over, in Unix ms of fleet time
	silent  atomic.Int64 // the instant at which notifications ceased to arrive; 0 while they do, or never did
}

// NewContact returns the contact of a replica whose leases have that TTL; there is none yet.
func NewContact(ttl time.Duration) *Contact {
	return &Contact{Contact: contact.New(min(max(ttl/3, leastGap), mostGap))}
}

// Listening ends the contact when notifications cease to arrive or arrive again. In between, one
// server of several may be out of reach though others answer.
func (c *Contact) Listening(is bool) {
	switch {
	case !is:
		c.silent.Store(int64(steady.Now()))
	case c.silent.Swap(0) == 0:
		return // for the first time
	}
	c.End()
}

// Watch notes that this replica may take over a lease that runs out then, in Unix ms of fleet time.
func (c *Contact) Watch(at int64) {
	for {
		until := c.watched.Load()
		if until >= at || c.watched.CompareAndSwap(until, at) {
			return
		}
	}
}

// Watches reports whether this replica may take over a lease that has run out by then or lately:
// the contact is to last. A look may be repeated soon.
func (c *Contact) Watches(now int64) bool {
	return c.watched.Load()+mostGap.Milliseconds() >= now
}

// Lasts returns since when there is contact, until when it lasts if nothing else is answered, and
// whether there is any now.
func (c *Contact) Lasts(now steady.Instant) (since, until steady.Instant, ok bool) {
	silent := steady.Instant(c.silent.Load())
	since, until, ok = c.Since(now)
	return since, until, ok && (silent == 0 || silent.Until(now) > mostSilent)
}
