package scheduler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// fleetClock estimates the store's clock.
type fleetClock struct {
	base   time.Time // with its monotonic reading, which the estimate is based on
	offset atomic.Int64
	rtt    atomic.Int64 // of the sample that it comes from
	taken  atomic.Int64 // when a sample was taken in last, since base; 0 before the first

	mu      sync.Mutex
	samples [16]sample // the zero sample is none
	next    int
}

// sample is one comparison of the two clocks. The truth is within rtt/2 of offset.
type sample struct {
	taken  time.Duration // since base
	offset time.Duration // of the store's clock, as Unix time, from the time since base
	rtt    time.Duration
}

// memory is how long a sample is good: clocks that differ in speed by 50 ppm drift apart by 1.5 ms
// in it.
const memory = 30 * time.Second

// clockDrift is how far two clocks drift apart between samples that are compared.
const clockDrift = 5 * time.Millisecond

// minSampleInterval is how long after a sample another one that agrees with the estimate is left
// out. With thousands of claims at once, taking them in would be a good part of the work, and they
// would push out all older ones.
const minSampleInterval = 5 * time.Millisecond

func newFleetClock() *fleetClock { return &fleetClock{base: time.Now()} }

// now returns fleet time in UTC. Before the first sample it is meaningless.
func (c *fleetClock) now() time.Time { return time.Unix(0, c.nanos()).UTC() }

// ms returns fleet time in Unix ms.
func (c *fleetClock) ms() int64 { return c.nanos() / int64(time.Millisecond) }

// msAt returns what ms does when the local clock says t, with its monotonic reading.
func (c *fleetClock) msAt(t time.Time) int64 {
	return (int64(c.local(t)) + c.offset.Load()) / int64(time.Millisecond)
}

// at returns fleet time in UTC when the local clock says t, with its monotonic reading; the zero
// time for the zero time.
func (c *fleetClock) at(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(0, int64(c.local(t))+c.offset.Load()).UTC()
}

func (c *fleetClock) nanos() int64 { return int64(c.local(time.Now())) + c.offset.Load() }

// local is a reading of this replica's own clock, which never steps, and does not stand still while
// the machine is suspended.
func (c *fleetClock) local(t time.Time) time.Duration { return t.Sub(c.base) + steady.Suspended(t) }

// compare returns the sample of a call that was sent and answered then, and got the store's time.
func (c *fleetClock) compare(sent, received, server time.Time) sample {
	s := sample{taken: c.local(received), rtt: received.Sub(sent)}
	s.offset = time.Duration(server.UnixNano()) + s.rtt/2 - s.taken
	return s
}

// estimate returns the present estimate: of which offset, and how far it may be off.
func (c *fleetClock) estimate() (offset, slack time.Duration) {
	return time.Duration(c.offset.Load()), time.Duration(c.rtt.Load()) / 2
}

// restart forgets every sample but s: the store's clock is another from now on.
func (c *fleetClock) restart(s sample) {
	c.mu.Lock()
	c.samples, c.next = [16]sample{}, 0
	c.mu.Unlock()
	c.take(s)
}

// sample takes in that the store's clock said server between sent and received.
func (c *fleetClock) sample(sent, received, server time.Time) {
	c.take(c.compare(sent, received, server))
}

// take takes a sample in.
func (c *fleetClock) take(s sample) {
	if c.knows(s) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	best := s
	for i := range c.samples {
		o := &c.samples[i]
		switch {
		case *o == sample{}:
		case s.taken-o.taken > memory || !o.agrees(s):
			// Too old; or a clock has stepped, or the machine was suspended: the newest is right.
			*o = sample{}
		case o.rtt < best.rtt:
			best = *o
		}
	}
	c.samples[c.next] = s
	c.next = (c.next + 1) % len(c.samples)
	c.offset.Store(int64(best.offset))
	c.rtt.Store(int64(best.rtt))
	c.taken.Store(int64(s.taken))
}

// knows shows that s adds nothing to the estimate: it is no better, agrees, and comes soon after
// another.
func (c *fleetClock) knows(s sample) bool {
	apart, since := s.offset-time.Duration(c.offset.Load()), s.taken-time.Duration(c.taken.Load())
	return c.taken.Load() != 0 && since >= 0 && since < minSampleInterval &&
		s.rtt >= time.Duration(c.rtt.Load()) && apart.Abs() <= s.rtt/2
}

// agrees reports whether both samples can be true of clocks that do not step.
func (s sample) agrees(t sample) bool {
	return (s.offset - t.offset).Abs() <= (s.rtt+t.rtt)/2+clockDrift
}
