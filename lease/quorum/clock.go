package quorum

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// clock is the quorum's clock. It is the median of the clocks of all nodes that have answered
// lately, whether or not they are among those that answer now. So a node that is far off, and fast,
// is one of three and not one of two.
type clock struct {
	base steady.Instant // from which the local clock counts

	mu      sync.Mutex
	nodes   []nodeClock
	untried int           // nodes that have neither answered nor failed yet
	all     chan struct{} // closed when untried is 0
}

// nodeClock is one node's clock, as far as it is known.
type nodeClock struct {
	tried  bool
	known  bool
	offset time.Duration // of its clock, as Unix time, from the local clock; at most what it is
	at     time.Duration // of its last answer, by the local clock
	sent   time.Duration // when the newest request was sent of those that it has answered
}

// clockMemory is for how long a node's clock counts that has not answered. Clocks that differ in
// speed by 50 ppm drift apart by 0.2 s in it. Without the node an even number would be left, and a
// wrong clock could be one of two.
const clockMemory = time.Hour

func newClock(nodes int) *clock {
	return &clock{base: steady.Now(), nodes: make([]nodeClock, nodes), untried: nodes, all: make(chan struct{})}
}

// local returns the local clock, which never steps.
func (c *clock) local() time.Duration { return c.base.Until(steady.Now()) }

// answered notes that a node's clock said at, between sent and now. The least that its offset can
// be by one of its answers holds until another answer allows no more than less, or proves more.
// Then the clock has stepped, or runs at another speed. An answer that comes after that to a later
// request says nothing about a step: it may be from before.
func (c *clock) answered(node int, sent time.Duration, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.triedLocked(node)
	received, n := c.local(), &c.nodes[node]
	least, most := time.Duration(at.UnixNano())-received, time.Duration(at.UnixNano())-sent
	if !n.known || sent >= n.sent && (least > n.offset || most < n.offset) {
		n.offset = least
	}
	n.known, n.at, n.sent = true, received, max(n.sent, sent)
}

// failed notes that a node did not answer.
func (c *clock) failed(node int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.triedLocked(node)
}

func (c *clock) triedLocked(node int) {
	if n := &c.nodes[node]; !n.tried {
		n.tried = true
		if c.untried--; c.untried == 0 {
			close(c.all)
		}
	}
}

// awaitAll waits for so long until every node has answered or failed once.
func (c *clock) awaitAll(ctx context.Context, most time.Duration) {
	select {
	case <-c.all:
		return
	default:
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-c.all:
	case <-t.C:
	case <-ctx.Done():
	}
}

// now returns the quorum's time, by the median of the known offsets. Of an even number it takes the
// lower of the two in the middle, so one clock that is far ahead makes nothing early. Some node has
// to have answered.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	local := c.local()
	var newest time.Duration // a machine that was suspended since has had no answer since
	for _, n := range c.nodes {
		newest = max(newest, n.at)
	}
	var offsets []time.Duration
	for _, n := range c.nodes {
		if n.known && newest-n.at <= clockMemory {
			offsets = append(offsets, n.offset)
		}
	}
	slices.Sort(offsets)
	return time.Unix(0, int64(local+offsets[(len(offsets)-1)/2])).UTC()
}
