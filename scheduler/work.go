package scheduler

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// work does what there is to do now, one request after another, and leaves the rest to the timers.
// waited is for how long it had to wait before the store could be asked; 0 when that was short.
func (c *contender) work(waited time.Duration) {
	c.mu.Lock()
	defer c.unlock()
	now := c.s.clock.ms()
	if waited > 0 {
		c.cursor.overloaded = now
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
		now = c.s.clock.ms()
	}
	c.restLocked()
}

// stillDue returns those that have something to do now. Of the ticks that were left to others the
// most are decided by now, as these have reported.
func stillDue(due []*contender, now int64) []*contender {
	still := due[:0]
	for _, c := range due {
		if !c.backup.Load() || !c.putOff(now) {
			still = append(still, c)
		}
	}
	return still
}

// putOff reports whether there is nothing to do now, and sets when there is.
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
	c.s.timers.set(c, at)
	return true
}

// doLocked does what a step is for. If that needs the store it returns the request.
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

// restLocked leaves the contender alone until there is something to do.
func (c *contender) restLocked() {
	c.active = false
	c.restRoomLocked()
	if c.contendingLocked() {
		c.s.timers.set(c, c.wakeAtLocked()) // under the lock, so that nothing that happens gets lost
	}
}

// wakeAtLocked returns the time of the job's next step, or 0 if the job waits for an event.
func (c *contender) wakeAtLocked() int64 {
	c.backup.Store(c.placeLocked().rank > 0)
	if c.roomToUseLocked() {
		return 1
	}
	return c.stepLocked(c.s.clock.ms()).at
}

// lookAtLocked is when the contender acts now that something has happened: at once while it waits
// for room, which it may not need any more.
func (c *contender) lookAtLocked() int64 {
	if c.short != 0 {
		return 1
	}
	return c.wakeAtLocked()
}

// decideLocked does what the plan says about the ticks that are due.
func (c *contender) decideLocked(now int64) *request {
	c.rest = rest{}
	d := plan(situation{cursor: c.cursor, policies: c.policiesLocked(), now: now, settling: c.s.settling()})
	switch d.action {
	case skipTicks:
		return c.beginLocked(&request{skip: c.skip(d), decision: d})
	case claimTick:
		return c.claimTickLocked(d, now)
	case waitUntil:
		c.rest = rest{settling, d.at}
	case doNothing: // the tick is not due any more
		c.rest = rest{resting, now + 1}
	}
	return nil
}

// claimTickLocked claims the tick of a decision if it can.
func (c *contender) claimTickLocked(d decision, now int64) *request {
	if d.overlap == protocol.OverlapWait && c.runsLocked() { // the answer is known: it is busy
		c.cursor = c.cursor.planned(d)
		c.cursor.blocked = now
		c.rest, c.blocked = rest{blocked, now + ms(c.s.ttl/2)}, now+ms(c.s.ttl)
		c.s.report(report{kind: progressBusy, job: c.name, tick: d.tick, until: now + ms(c.s.ttl)})
		return nil
	}
	room := c.roomLocked(c.due(d.tick) + c.backupLocked())
	if !room && !c.needsNoRoomLocked() {
		c.waitForRoomLocked(d.tick, now)
		c.passLocked(d.tick)
		return nil
	}
	c.cursor = c.cursor.planned(d)
	r := &request{claim: c.claim(d.tick)}
	if w := c.waiting; w != nil && w.tick == d.tick { // goes on from the claim before, whatever it says of the tick
		r.began, r.waited = w.began, true
	}
	r.claim.NotBefore = time.UnixMilli(c.due(d.tick))
	r.claim.Overlap, r.claim.NoRoom = d.overlap, !room
	if d.latest != 0 {
		r.claim.NotAfter = time.UnixMilli(d.latest)
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
