package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Work takes the steps that are due, one request after another, and then sets the timer. waited is
// how long the contender waited to be admitted, or 0 if that was short.
func (c *contender) Work(waited time.Duration) {
	c.mu.Lock()
	defer c.unlock()
	now := c.s.clock.Ms()
	if waited > 0 {
		c.cursor.Overloaded = now
	}
	if c.active {
		return
	}
	c.active, c.short = true, 0
	if c.rest.state == crowded { // it asks for room again, else it would leave the queue
		c.rest = rest{}
	}
	for s := c.stepLocked(now); s.at != 0 && s.at <= now; s = c.stepLocked(now) {
		if r := c.doLocked(s, now); r != nil {
			c.unlock()
			a := c.ask(r)
			c.mu.Lock()
			c.receiveLocked(r, a)
		}
		now = c.s.clock.Ms()
	}
	c.restLocked()
}

// stillDue returns those that still have something to do. Most ticks that were left to other
// replicas are decided by now, as their reports show.
func stillDue(due []*admission.Slot[*contender], now int64) []*admission.Slot[*contender] {
	still := due[:0]
	for _, s := range due {
		if !s.Owner.backup.Load() || !s.Owner.putOff(now) {
			still = append(still, s)
		}
	}
	return still
}

// putOff reports whether there is nothing to do now, and sets the timer if so.
func (c *contender) putOff(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active {
		return false
	}
	at := c.lookAtLocked()
	if at != 0 && at <= now {
		return false
	}
	c.s.timers.Set(&c.slot, at)
	return true
}

// doLocked takes a step. If that needs the store, it returns the request.
func (c *contender) doLocked(s step, now int64) *request {
	switch s.state {
	case retrying:
		return c.beginLocked(c.pending)
	case takingOver:
		return c.takeOverLocked(s.tick, now)
	case confirming:
		c.confirmLocked()
	case claiming:
		return c.decideLocked(now)
	default: // the others wait
	}
	return nil
}

// restLocked sets the timer for the next step.
func (c *contender) restLocked() {
	c.active = false
	c.restRoomLocked()
	if c.contendingLocked() {
		c.s.timers.Set(&c.slot, c.wakeAtLocked()) // under the lock, so that nothing that happens gets lost
	}
}

// wakeAtLocked returns the time of the job's next step, or 0 if the job waits for an event.
func (c *contender) wakeAtLocked() int64 {
	c.backup.Store(c.placeLocked().Rank > 0)
	if c.roomToUseLocked() {
		return 1
	}
	return c.stepLocked(c.s.clock.Ms()).at
}

// lookAtLocked returns when the contender acts after an event: at once while it waits for room,
// because it may not need room any more.
func (c *contender) lookAtLocked() int64 {
	if c.short != 0 {
		return 1
	}
	return c.wakeAtLocked()
}

// decideLocked carries out the plan for the ticks that are due.
func (c *contender) decideLocked(now int64) *request {
	c.rest = rest{}
	d := plan.Decide(plan.Situation{Cursor: c.cursor, Policies: c.policiesLocked(), Now: now, Settling: c.s.settling()})
	switch d.Action {
	case plan.SkipTicks:
		return c.beginLocked(&request{skip: c.skip(d), decision: d})
	case plan.ClaimTick:
		return c.claimTickLocked(d, now)
	case plan.WaitUntil:
		c.rest = rest{settling, d.At}
	case plan.DoNothing: // the tick is not due any more
		c.rest = rest{resting, now + 1}
	}
	return nil
}

// claimTickLocked claims the tick of a decision, if it can.
func (c *contender) claimTickLocked(d plan.Decision, now int64) *request {
	if d.Overlap == protocol.OverlapWait && c.runsLocked() { // the answer is known: it is busy
		c.cursor = c.cursor.Planned(d)
		c.cursor.Blocked = now
		c.rest, c.blocked = rest{blocked, now + ms(c.s.ttl/2)}, now+ms(c.s.ttl)
		c.s.report(reports.Report{Kind: reports.Busy, Job: c.name, Tick: d.Tick, Until: now + ms(c.s.ttl)})
		return nil
	}
	room := c.roomLocked(c.Due(d.Tick) + c.backupLocked())
	if !room && !c.needsNoRoomLocked() {
		c.waitForRoomLocked(d.Tick, now)
		c.passLocked(d.Tick)
		return nil
	}
	c.cursor = c.cursor.Planned(d)
	r := &request{claim: c.claim(d.Tick)}
	if w := c.waiting; w != nil && w.tick == d.Tick { // goes on from the claim before, whatever it says of the tick
		r.began, r.waited = w.began, true
	}
	r.claim.NotBefore = time.UnixMilli(c.Due(d.Tick))
	r.claim.Overlap, r.claim.NoRoom = d.Overlap, !room
	if d.Latest != 0 {
		r.claim.NotAfter = time.UnixMilli(d.Latest)
	}
	return c.beginLocked(r)
}

// runsLocked reports whether this replica holds a tick of the job.
func (c *contender) runsLocked() bool {
	for _, l := range c.running {
		if l.Valid() {
			return true
		}
	}
	return false
}
