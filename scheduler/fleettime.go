package scheduler

import (
	"sync"
	"sync/atomic"
	"time"
)

// fleetClock estimates the store's clock.
type fleetClock struct {
	base   time.Time // with its monotonic reading, on which the estimate rests
	offset atomic.Int64

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

// memory is how long a sample is good: clocks that differ in speed by 50 ppm drift apart by 1.5 ms in it.
const memory = 30 * time.Second

func newFleetClock() *fleetClock { return &fleetClock{base: time.Now()} }

// now returns fleet time in UTC. Before the first sample it is meaningless.
func (c *fleetClock) now() time.Time { return time.Unix(0, c.nanos()).UTC() }

// ms returns fleet time in Unix ms.
func (c *fleetClock) ms() int64 { return c.nanos() / int64(time.Millisecond) }

func (c *fleetClock) nanos() int64 { return int64(time.Since(c.base)) + c.offset.Load() }

// sample takes in that the store's clock said server between sent and received.
func (c *fleetClock) sample(sent, received, server time.Time) {
	s := sample{taken: received.Sub(c.base), rtt: received.Sub(sent)}
	s.offset = time.Duration(server.UnixNano()) + s.rtt/2 - s.taken
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
}

// agrees tells whether both samples can be true of clocks that do not step.
func (s sample) agrees(t sample) bool {
	const drift = 5 * time.Millisecond
	return (s.offset - t.offset).Abs() <= (s.rtt+t.rtt)/2+drift
}
