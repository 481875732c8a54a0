package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/job"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Work takes the steps that are due, one request after another, and then sets the timer. waited is
// how long the contender waited to be admitted, or 0 if that was short.
func (c *contender) Work(waited time.Duration) {
	c.mu.Lock()
	defer c.unlock()
	now := c.s.clock.Ms()
	if waited > 0 {
		c.Cursor.Overloaded = now
	}
	if c.active {
		return
	}
	c.active = true
	c.Room.NotShort()
	if c.Rest.State == job.Crowded { // it asks for room again, else it would leave the queue
		c.Rest.End()
	}
	for step := c.stepLocked(now); step.At != 0 && step.At <= now; step = c.stepLocked(now) {
		if r := c.doLocked(step, now); r != nil {
			c.unlock()
			a := c.ask(r)
			c.mu.Lock()
			c.receiveLocked(r, a)
		}
		now = c.s.clock.Ms()
	}
	c.active = false
	c.restRoomLocked()
	if c.contendingLocked() {
		c.s.timers.Set(&c.slot, c.wakeAtLocked()) // under the lock, so that nothing that happens gets lost
		c.leaveLocked()
	}
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

// stepLocked returns the next step.
func (c *contender) stepLocked(now int64) job.Step {
	switch {
	case !c.contendingLocked():
		return job.Step{State: job.Removed}
	case c.s.trust.Holds(), c.base != nil && c.s.loader.isReturning():
		return job.Step{State: job.Untrusted}
	}
	step := c.Step(now)
	if step.Watch != 0 {
		c.s.contact.Watch(step.Watch)
	}
	return step
}

// doLocked takes a step. If that needs the store, it returns the request, which is pending then.
func (c *contender) doLocked(s job.Step, now int64) (r *job.Request) {
	switch s.State {
	case job.Retrying:
		r = c.Pending
	case job.TakingOver:
		r = c.TakeOver(s.Tick, now)
	case job.Confirming:
		c.Confirm(now)
	case job.Claiming:
		r = c.Decide(now, c.s.settling())
	default: // the others wait
	}
	if r != nil {
		c.beginLocked(r)
	}
	return r
}

// restRoomLocked releases the room that the contender does not need while it rests.
func (c *contender) restRoomLocked() {
	c.Room.Rest(!c.gone && c.Pending != nil && !c.Pending.Skips())
}

// wakeAtLocked returns the time of the job's next step, or 0 if the job waits for an event.
func (c *contender) wakeAtLocked() int64 {
	c.backup.Store(c.Order.Place().Rank > 0)
	if c.Room.IsOffered(c.Pending != nil) {
		return 1
	}
	return c.stepLocked(c.s.clock.Ms()).At
}

// lookAtLocked returns when the contender acts after an event: at once while it waits for room,
// because it may not need room any more.
func (c *contender) lookAtLocked() int64 {
	if c.Room.IsShort() {
		return 1
	}
	return c.wakeAtLocked()
}

// beginLocked makes a request the pending one, to be sent now. If a claim arrives after the contact
// that it names has ended, it takes nothing over: the store may have been away meanwhile, for the
// holder too.
func (c *contender) beginLocked(r *job.Request) {
	c.Begin(r, c.s.until())
	if !r.Skips() {
		r.Claim.TakeoverUntil, r.Claim.ContactSince = c.s.takeoverBounds(c.Name, &c.Failures)
		if c.base != nil {
			c.base.locked(func() { r.Claim.Paused = c.base.Record.Paused != nil })
		}
	}
}

// reply is the result of a request.
type reply struct {
	received time.Time
	failed   bool // the request has to be sent again
	answer   protocol.Answer
	// Of a skip: the watermark, and whether it was this request that has moved it.
	watermark int64
	skipped   bool
}

// ask sends a request to the store and waits for the reply. The mutex must not be locked.
func (c *contender) ask(r *job.Request) reply {
	var a reply
	var err error
	ctx := c.s.calls.Context(r.Sent)
	if r.Skips() {
		a.watermark, a.skipped, err = c.s.store.Skip(ctx, *r.Skip)
		c.s.inflight.Answered(r.Sent, err)
		kind := storehealth.Reads
		if a.skipped {
			kind = storehealth.Writes
		}
		c.s.bounded(kind, r.Sent, err)
		a.failed = err != nil
		return a
	}
	a.answer, err = c.s.store.Claim(ctx, r.Claim)
	a.received = time.Now()
	c.s.inflight.Answered(r.Sent, err)
	c.s.answered(storehealth.ClaimKind(a.answer, err), a.received.Sub(r.Sent), err)
	if err == nil {
		c.s.clockSeen(r.Sent, a.received, a.answer.Now)
		if c.s.observed {
			c.s.observe(Claimed{Job: c.job, Key: c.key, Tick: utc(r.Claim.Tick), Status: a.answer.Status, Took: time.Since(r.Began)})
		}
	}
	a.failed = err != nil || a.answer.Status == protocol.OutOfBounds // a look at the clock comes before the next try
	return a
}

// receiveLocked applies the reply to a request.
func (c *contender) receiveLocked(r *job.Request, a reply) {
	if a.failed {
		c.Failed(r, c.s.clock.Ms())
		return
	}
	c.Failures.Answered(steady.Now(), c.s.contact.Gap())
	c.Rest.End()
	if r.Skips() {
		c.skippedLocked(c.SkipAnswered(r, a.watermark, a.skipped)...)
	} else {
		c.claimedLocked(r, a)
	}
	if c.Pending == r { // else it was given up while it was under way
		c.Pending = nil
	}
}

// claimedLocked applies the answer to a claim.
func (c *contender) claimedLocked(r *job.Request, a reply) {
	answer, tick := a.answer, r.Claim.Tick
	if answer.Status == protocol.Unknown {
		c.Missing()
		return
	}
	now := c.s.clock.MsAt(a.received)
	seen := job.Answer{Now: now, Overtaken: r.Overtaken}
	c.Advance(answer.Watermark)
	c.Open.Drop(tick)
	c.Others(seen, answer.Open, tick)
	if r.Claim.NoRoom && c.noRoomLocked(answer, tick, now) {
		return
	}
	if r.Claim.OnlyOpen && answer.Status == protocol.Decided && c.Hints.IsAheadOf(answer.Watermark) {
		c.Confirm(now) // the grant that was reported is not there
	} else {
		c.ReportAnswer(&r.Claim, answer, now)
	}
	one := job.Skipped{To: tick, Count: 1, Outcome: wire.Skipped}
	switch answer.Status {
	case protocol.Granted:
		c.grantedLocked(r, a)
	case protocol.Held, protocol.Queued:
		c.Open.Set(c.LookAfter(seen, tick, answer.Remaining, answer.Status == protocol.Queued, answer.Holder))
	case protocol.Paused:
		if c.Record.Paused == nil && !r.Claim.Paused { // by whom, and why: the store may forget it
			c.Record.Forget()
			c.Sync()
		}
		one.Reason = wire.ReasonPaused
	case protocol.Skipped:
		one.Reason = wire.ReasonOverlap
		if r.Claim.Overlap == protocol.OverlapAllow {
			one.Reason = wire.ReasonOpen // nothing else is in its way
		}
	case protocol.Lost:
		c.Open.Drop(tick)
		one.Outcome, one.Reason = wire.Lost, wire.ReasonTakeovers
	case protocol.Early, protocol.Late, protocol.Busy, protocol.Decided, protocol.Unknown, protocol.OutOfBounds:
	}
	if one.Reason != "" {
		c.skippedLocked(one)
	}
	c.settledLocked(answer.Settled)
	c.Answered(r, answer, now)
}

// noRoomLocked applies the answer to a claim without room. It reports whether the tick needs room
// after all; then it waits in the queue.
func (c *contender) noRoomLocked(a protocol.Answer, tick, now int64) bool {
	if a.Status != protocol.Busy || a.Holder != "" {
		c.Room.NotShort()
		return false
	}
	if c.Record.Resume() {
		c.Record.Forget()
		c.Sync()
	}
	c.settledLocked(a.Settled)
	c.WaitForRoom(tick, now)
	return true
}

// grantedLocked begins a run.
func (c *contender) grantedLocked(r *job.Request, a reply) {
	if !r.Claim.OnlyOpen { // an open tick is granted while the job is paused, too
		c.Record.Resume()
	}
	if c.base == nil { // that of a stored schedule is in its history
		c.s.facts.tookOver(c.Name, r.Claim.Tick, a.answer)
	}
	l := c.s.begin(c, r.Claim, a.answer, r.Moment)
	c.Running.Add(l)
	if r.Overtaken && c.Spec.Overlap == jobs.Replace {
		l.Check() // it may have been for this one
	}
}

// settledLocked reports ticks that a claim has settled besides its own, or its own if that was for
// another reason.
func (c *contender) settledLocked(list []protocol.Settled) {
	for _, t := range list {
		c.Open.Drop(t.Tick)
		c.Notify(reports.Report{Kind: reports.Settled, Job: c.Name, Tick: t.Tick})
		reason := wire.ReasonNewer // it made room for a newer tick
		switch t.Outcome {
		case wire.Lost:
			reason = wire.ReasonTakeovers
		case wire.Cancelled:
			reason = wire.ReasonCancelled
		case wire.Missed:
			reason = wire.ReasonTooOld
		default:
		}
		c.skippedLocked(job.Skipped{To: t.Tick, Count: 1, Outcome: t.Outcome, Reason: reason})
	}
}
