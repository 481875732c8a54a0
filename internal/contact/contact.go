// Package contact keeps since when a store has answered without a gap. In that time others could
// reach it, too, unless the way to it was theirs alone.
package contact

import (
	"sync"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// Contact is that with one store. It is safe for concurrent use.
type Contact struct {
	gap time.Duration

	mu    sync.Mutex
	since steady.Instant
	last  steady.Instant // when the newest of the answered requests was sent
	ok    bool           // and nothing has ended it since
	begun bool           // there was one
}

// New returns a contact that ends when answers are further apart than gap.
func New(gap time.Duration) *Contact { return &Contact{gap: gap} }

// Gap returns the time between answers that ends the contact.
func (c *Contact) Gap() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gap
}

// Limit lowers the gap to at most d.
func (c *Contact) Limit(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gap = min(c.gap, d)
}

// Answered notes that a request which was sent then is answered now.
func (c *Contact) Answered(sent, now steady.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begun, c.last = true, sent
	}
	if !c.ok || c.last.Until(now) > c.gap {
		c.since, c.ok = now, true
	}
	c.last = max(c.last, sent)
}

// End ends the contact until the next answer: a connection broke, or the store is another one.
func (c *Contact) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ok = false
}

// Since returns since when there is contact, until when it lasts if nothing else is answered, and
// whether there is any now.
func (c *Contact) Since(now steady.Instant) (since, until steady.Instant, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	until = c.last.Add(c.gap)
	return c.since, until, c.ok && now <= until
}
