// Package clock estimates the store's clock from what its answers show ([Clock]), and decides
// whether that clock can be trusted ([Trust]).
package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/steady"
)

// Clock estimates the store's clock.
type Clock struct {
	base   time.Time // with its monotonic reading, which the estimate is based on
	offset atomic.Int64
	rtt    atomic.Int64 // of the sample that it comes from
	taken  atomic.Int64 // when a sample was taken in last, since base; 0 before the first

	mu      sync.Mutex
	samples [16]Sample // the zero sample is none
	next    int
}

// Sample is one comparison of the two clocks. The truth is within RTT/2 of Offset.
type Sample struct {
	Taken  time.Duration // since base
	Offset time.Duration // of the store's clock, as Unix time, from the time since base
	RTT    time.Duration
}

// memory is how long a sample counts. Clocks that differ in speed by 50 ppm drift apart by 1.5 ms
// in that time.
const memory = 30 * time.Second

// Drift is how far two clocks may drift apart between two samples.
const Drift = 5 * time.Millisecond

// minSampleInterval is the time after a sample in which others that agree with the estimate are
// ignored. With thousands of claims at once, they would cost a good part of the work, and push out
// all older samples.
const minSampleInterval = 5 * time.Millisecond

// New returns a Clock that knows nothing yet.
func New() *Clock { return &Clock{base: time.Now()} }

// Now returns fleet time in UTC. It is meaningless before the first sample.
func (c *Clock) Now() time.Time { return time.Unix(0, c.Nanos()).UTC() }

// Ms returns fleet time in Unix ms.
func (c *Clock) Ms() int64 { return c.Nanos() / int64(time.Millisecond) }

// MsAt returns fleet time in Unix ms at local time t, which must have a monotonic reading.
func (c *Clock) MsAt(t time.Time) int64 {
	return (int64(c.Local(t)) + c.offset.Load()) / int64(time.Millisecond)
}

// At returns fleet time in UTC at local time t, which must have a monotonic reading, or the zero
// time if t is zero.
func (c *Clock) At(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(0, int64(c.Local(t))+c.offset.Load()).UTC()
}

// Nanos returns fleet time in Unix ns.
func (c *Clock) Nanos() int64 { return int64(c.Local(time.Now())) + c.offset.Load() }

// Local returns a reading of this machine's own clock, which never steps, and goes on while the
// machine is suspended.
func (c *Clock) Local(t time.Time) time.Duration { return t.Sub(c.base) + steady.Suspended(t) }

// Compare returns the sample of a call that was sent and received at these times, and was answered
// with the store's time.
func (c *Clock) Compare(sent, received, server time.Time) Sample {
	s := Sample{Taken: c.Local(received), RTT: received.Sub(sent)}
	s.Offset = time.Duration(server.UnixNano()) + s.RTT/2 - s.Taken
	return s
}

// Estimate returns the estimated offset of the store's clock, and how far it may be off.
func (c *Clock) Estimate() (offset, slack time.Duration) {
	return time.Duration(c.offset.Load()), time.Duration(c.rtt.Load()) / 2
}

// Restart forgets every sample except s, because the store's clock has changed.
func (c *Clock) Restart(s Sample) {
	c.mu.Lock()
	c.samples, c.next = [16]Sample{}, 0
	c.mu.Unlock()
	c.Take(s)
}

// sample takes in that the store's clock said server between sent and received.
func (c *Clock) sample(sent, received, server time.Time) {
	c.Take(c.Compare(sent, received, server))
}

// Take adds a sample to the estimate.
func (c *Clock) Take(s Sample) {
	if c.knows(s) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	best := s
	for i := range c.samples {
		o := &c.samples[i]
		switch {
		case *o == Sample{}:
		case s.Taken-o.Taken > memory || !o.agrees(s):
			// Too old; or a clock has stepped, or the machine was suspended: the newest is right.
			*o = Sample{}
		case o.RTT < best.RTT:
			best = *o
		}
	}
	c.samples[c.next] = s
	c.next = (c.next + 1) % len(c.samples)
	c.offset.Store(int64(best.Offset))
	c.rtt.Store(int64(best.RTT))
	c.taken.Store(int64(s.Taken))
}

// knows reports whether s adds nothing to the estimate: it agrees, is no more exact, and follows
// another at once.
func (c *Clock) knows(s Sample) bool {
	apart, since := s.Offset-time.Duration(c.offset.Load()), s.Taken-time.Duration(c.taken.Load())
	return c.taken.Load() != 0 && since >= 0 && since < minSampleInterval &&
		s.RTT >= time.Duration(c.rtt.Load()) && apart.Abs() <= s.RTT/2
}

// agrees reports whether both samples can be of clocks that did not step.
func (s Sample) agrees(t Sample) bool {
	return (s.Offset - t.Offset).Abs() <= (s.RTT+t.RTT)/2+Drift
}
