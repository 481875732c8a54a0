package scheduler

import (
	"context"
	"time"
)

const (
	// verifyEvery is how often the records of ticks that wait for room are read, because others may
	// have run those ticks.
	verifyEvery = time.Second
	// verifyAtOnce bounds how many are read each time.
	verifyAtOnce = 64
	// freeAfter is how long no tick may wait for room before the replica counts as having some.
	// Otherwise many short waits would each send an event.
	freeAfter = 10 * time.Second
)

// admit offers freed room to waiters and reports when the replica or the store is overloaded, until
// ctx ends.
func (s *Scheduler) admit(ctx context.Context) {
	ticker := time.NewTicker(verifyEvery)
	defer ticker.Stop()
	var full, slow spell
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.capacity.Freed:
			for w := s.capacity.Offer(); w != nil; w = s.capacity.Offer() {
				w.Wake()
			}
		case <-ticker.C:
			for _, w := range s.capacity.First(verifyAtOnce) {
				w.Verify()
			}
			now, state := time.Now(), s.Capacity()
			switch began, lasted := full.see(now, state.Waiting > 0); {
			case began:
				s.observe(CapacityChanged{Capacity: state, Full: true})
			case lasted > 0:
				s.observe(CapacityChanged{Capacity: state, Lasted: lasted})
			}
			at, waited := s.inflight.Delays()
			switch began, lasted := slow.see(now, now.Sub(at) <= verifyEvery); {
			case began:
				s.observe(StoreLoadChanged{Overloaded: true, InFlight: s.inflight.Current(), Waiting: s.queue.Waiting(), Waited: waited})
			case lasted > 0:
				s.observe(StoreLoadChanged{Lasted: lasted})
			}
		}
	}
}

// spell is a period in which a condition keeps returning.
type spell struct{ since, last time.Time }

// see records whether the condition holds. It reports that a spell has begun, or how long it lasted
// once the condition has not held for freeAfter.
func (p *spell) see(now time.Time, is bool) (began bool, lasted time.Duration) {
	switch {
	case is && p.since.IsZero():
		p.since, p.last = now, now
		return true, 0
	case is:
		p.last = now
	case !p.since.IsZero() && now.Sub(p.last) >= freeAfter:
		lasted = max(p.last.Sub(p.since), verifyEvery)
		p.since = time.Time{}
	}
	return false, lasted
}

// Capacity is how much a replica runs, and how much it may run.
type Capacity struct {
	MaxRuns int // the weight of jobs that it runs at a time; 0: no limit
	Used    int // the weight of its runs, and of claims whose answer is not known yet
	Waiting int // how many jobs have a tick that is due and that it has no room for; others may have
}

// Capacity returns how much this replica runs now, and how much it may run.
func (s *Scheduler) Capacity() Capacity {
	used, waiting := s.capacity.Load()
	return Capacity{MaxRuns: s.capacity.Max, Used: used, Waiting: waiting}
}
