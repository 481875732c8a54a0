package casstore

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// Clock reckons the time of servers from what they have said, for a [Medium]. It is the median of
// theirs, by the least that each can be: an answer may have been on its way for long, and a clock
// that is behind makes nothing early. The zero value has no servers.
type Clock struct {
	mu      sync.Mutex
	servers map[string]offset
}

// offset is by how much a server's clock is ahead of the local one, as Unix time.
type offset struct {
	least, most time.Duration
	at          steady.Instant // of the last answer
}

const (
	drift       = 5000      // clocks differ in speed by less than one part of so many
	clockMemory = time.Hour // for how long a server's clock counts that does not answer
)

// Observe notes that a server's clock was between least and most at some time between sent and
// received. What it has said before counts, too, unless the two cannot both be true: then the clock
// was set.
func (c *Clock) Observe(server string, sent, received steady.Instant, least, most time.Time) {
	said := offset{
		time.Duration(least.UnixNano()) - time.Duration(received), time.Duration(most.UnixNano()) - time.Duration(sent), received,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, known := c.servers[server]; known {
		slack := before.at.Until(received).Abs() / drift
		lo, hi := max(said.least, before.least), min(said.most, before.most+slack)
		if lo > hi { // it may have run slower: otherwise time does not go back
			lo = max(said.least, before.least-slack)
		}
		if lo <= hi {
			said.least, said.most = lo, hi
		}
	}
	if c.servers == nil {
		c.servers = make(map[string]offset)
	}
	c.servers[server] = said
}

// Spread returns by how much the clock of a server is uncertain; 0 when it has said nothing.
func (c *Clock) Spread(server string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[server].most - c.servers[server].least
}

// Middle returns the time of a server in the middle of what it can be.
func (c *Clock) Middle(server string) (at time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, known := c.servers[server]
	return time.Unix(0, int64(time.Duration(steady.Now())+o.least+(o.most-o.least)/2)).UTC(), known
}

// Now returns the time of the servers; false when none has said anything yet.
func (c *Clock) Now() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var newest steady.Instant
	for _, o := range c.servers {
		newest = max(newest, o.at)
	}
	var offsets []time.Duration
	for _, o := range c.servers {
		if o.at.Until(newest) <= clockMemory {
			offsets = append(offsets, o.least)
		}
	}
	if len(offsets) == 0 {
		return time.Time{}, false
	}
	slices.Sort(offsets)
	return time.Unix(0, int64(time.Duration(steady.Now())+offsets[(len(offsets)-1)/2])).UTC(), true
}

// Step moves every server's clock: it is for tests.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for server, o := range c.servers {
		o.least, o.most = o.least+d, o.most+d
		c.servers[server] = o
	}
}

// Adopt takes over what another clock of the same servers knows: it is for tests, which have no time
// to ask as often.
func (c *Clock) Adopt(from *Clock) {
	from.mu.Lock()
	known := maps.Clone(from.servers)
	from.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers = known
}
