package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/jobs"
)

// A contender claims nothing without room for the run. It holds the room from before the claim
// until the answer. A run that was granted takes it over, and gives it back when its handler has
// returned.

// roomLocked reports whether the contender has room for the run of a tick that came due then. If
// not, the contender is woken when there is some.
func (c *contender) roomLocked(due int64) bool {
	if c.room > 0 {
		return true
	}
	if c.short != 0 {
		due = min(due, c.short)
	}
	if !c.s.capacity.Acquire(c.waits, due, c.Spec.Weight) {
		c.short = due
		return false
	}
	c.room = int32(c.Spec.Weight) //nolint:gosec // at most limits.MaxWeight
	return true
}

// needsNoRoomLocked reports whether a claim of the next tick makes sense without room: the tick is
// skipped, or waits for a run of this replica and takes over its room.
func (c *contender) needsNoRoomLocked() bool {
	return c.paused != nil || c.Spec.Overlap == jobs.Replace && c.runsLocked()
}

// takeRoomLocked hands the room over to a run that was granted, and returns how much that is.
func (c *contender) takeRoomLocked() int {
	room := int(c.room)
	c.room = 0
	switch spare := room - c.Spec.Weight; {
	case room == 0: // two claims whose answers were lost had been granted
		room = c.Spec.Weight
		c.s.capacity.Take(room)
	case spare > 0:
		room = c.Spec.Weight
		c.s.capacity.Release(spare)
	}
	return room
}

// inherit takes the room of a run whose handler has returned, if another tick waits to take its
// place, and reports whether it did. If so, bequeathed must be called when the run is settled.
func (c *contender) inherit(room int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || !c.pending.replaces() && !slices.ContainsFunc(c.open, func(l look) bool { return l.waits }) {
		return false
	}
	c.room += int32(room) //nolint:gosec // at most limits.MaxWeight
	c.heirs++
	return true
}

// bequeathed handles the settlement of a run whose room the contender has taken. If nothing is
// claimed with the room now, it is released.
func (c *contender) bequeathed() {
	c.mu.Lock()
	defer c.unlock()
	if c.heirs--; !c.active && !c.contendingLocked() {
		c.restRoomLocked()
	}
	c.pokeLocked()
}

// roomToUseLocked reports whether the contender has room that it must use or release.
func (c *contender) roomToUseLocked() bool {
	return c.waits != nil && (c.waits.Offered.Load() || c.room > 0 && c.heirs == 0 && c.pending == nil)
}

// restRoomLocked releases what the contender does not need while it rests. It keeps its place in
// the queue if a tick has just found no room. It keeps the room if a claim may have been granted,
// or will be made when the run that had the room is settled.
func (c *contender) restRoomLocked() {
	if c.short == 0 {
		c.s.capacity.Withdraw(c.waits)
	}
	if c.room > 0 && c.heirs == 0 && (c.gone || c.pending == nil || c.pending.skips()) {
		c.s.capacity.Release(int(c.room))
		c.room = 0
	}
}

// waitForRoomLocked lets a tick wait for room, until it is a misfire after its grace. If an earlier
// tick of the job runs, the two overlap, as they would if there had been room for the claim.
func (c *contender) waitForRoomLocked(tick, now int64) {
	c.cursor.Full = now
	due := c.Due(tick)
	at := due + c.policiesLocked().Grace() + 1
	if c.InTurn() {
		overlapped := len(c.running) > 0
		for _, l := range c.open {
			overlapped = overlapped || !l.waits
		}
		if overlapped {
			c.cursor.Blocked = now
			if c.Spec.Overlap == jobs.Forbid && now <= due+plan.Promptly {
				at = due + plan.Promptly + 1
			}
		}
	}
	if at <= now { // it is a misfire, and waits for a newer one to take its place
		at = now + ms(c.s.ttl)
		if next := c.TickAfter(now); next != 0 {
			at = min(at, c.Due(next))
		}
	}
	c.rest = rest{crowded, max(at, now+1)}
}

// roomFreed makes the contender act at once, because there is room for it.
func (c *contender) roomFreed() {
	c.mu.Lock()
	defer c.unlock()
	if c.gone {
		c.s.capacity.Withdraw(c.waits)
		return
	}
	c.pokeLocked()
}

// verify has the record read again, because others may have run the tick that waits for room.
func (c *contender) verify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale, c.confirming = true, true
	c.s.wantSync()
}

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
