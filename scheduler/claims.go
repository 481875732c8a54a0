package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"math/rand/v2"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// claimedLocked applies the answer to a claim.
func (c *contender) claimedLocked(r *request, a reply) {
	answer, tick := a.answer, r.claim.Tick
	if answer.Status == protocol.Unknown {
		c.forgottenLocked()
		return
	}
	now := c.s.clock.MsAt(a.received)
	c.learnLocked(answer, tick, now, r.overtaken)
	if r.claim.NoRoom && c.noRoomLocked(answer, tick, now) {
		return
	}
	if r.claim.OnlyOpen && answer.Status == protocol.Decided && answer.Watermark < c.hints.watermark {
		c.confirmLocked() // the grant that was reported is not there
	} else {
		c.reportLocked(&r.claim, answer, now)
	}
	switch answer.Status {
	case protocol.Granted:
		c.grantedLocked(r, a)
	case protocol.Held, protocol.Queued:
		c.open.set(c.lookAfterLocked(tick, now, answer.Remaining, answer.Status == protocol.Queued, r.overtaken, answer.Holder))
	case protocol.Paused:
		if c.paused == nil { // by whom, and why: the store may forget it
			c.synced = false
			c.s.wantSync()
		}
		c.undoneLocked(tick, wire.Skipped, wire.ReasonPaused)
	case protocol.Skipped:
		reason := wire.ReasonOverlap
		if r.claim.Overlap == protocol.OverlapAllow {
			reason = wire.ReasonOpen // nothing else is in its way
		}
		c.undoneLocked(tick, wire.Skipped, reason)
	case protocol.Lost:
		c.open.drop(tick)
		c.undoneLocked(tick, wire.Lost, wire.ReasonTakeovers)
	case protocol.Early, protocol.Late, protocol.Busy, protocol.Decided, protocol.Unknown, protocol.OutOfBounds:
	}
	for _, t := range answer.Settled {
		c.settledLocked(t)
	}
	if !r.overtaken { // else what it would wait for may have happened
		c.rest = restOf(answer, now)
	}
	if answer.Status == protocol.Busy {
		c.blocked = now + ms(answer.Remaining)
	}
	c.waitedLocked(r, answer.Status == protocol.Busy, now)
}

// noRoomLocked applies the answer to a claim without room. It reports whether the tick needs room
// after all; then it waits in the queue.
func (c *contender) noRoomLocked(a protocol.Answer, tick, now int64) bool {
	if a.Status != protocol.Busy || a.Holder != "" {
		c.short = 0
		return false
	}
	if c.paused != nil { // it was resumed
		c.paused, c.synced = nil, false
		c.s.wantSync()
	}
	for _, t := range a.Settled {
		c.settledLocked(t)
	}
	c.waitForRoomLocked(tick, now)
	c.passLocked(tick)
	return true
}

// restOf returns how long the contender rests after an answer, and why.
func restOf(a protocol.Answer, now int64) rest {
	switch a.Status {
	case protocol.Early:
		return rest{resting, now + ms(a.Remaining) + 1}
	case protocol.Late:
		return rest{settling, now + lateRetry}
	case protocol.Busy:
		// It is notified when the other ends, by the store or by a run of this replica; at the latest its
		// lease runs out.
		return rest{blocked, now + ms(a.Remaining) + 1 + rand.Int64N(50)}
	default: // the watermark, or the next decision, says what follows
		return rest{}
	}
}

// waitedLocked remembers whether the claimed tick must wait for an earlier one.
func (c *contender) waitedLocked(r *request, busy bool, now int64) {
	if busy || r.waited {
		c.cursor.Blocked = now
	}
	if r.claim.OnlyOpen {
		return
	}
	c.waiting = nil
	if busy {
		c.waiting = &waitingTick{r.claim.Tick, r.began}
	}
}

// grantedLocked begins a run.
func (c *contender) grantedLocked(r *request, a reply) {
	if !r.claim.OnlyOpen { // an open tick is granted while the job is paused, too
		c.paused = nil
	}
	c.s.tookOver(c.name, r.claim.Tick, a.answer)
	l := c.s.begin(c, r.claim, a.answer, r.moment)
	if c.running == nil {
		c.running = make(map[int64]*lease.Lease, 1)
	}
	c.running[r.claim.Tick] = l
	if r.overtaken && c.Spec.Overlap == jobs.Replace {
		l.Check() // it may have been for this one
	}
}

// settledLocked reports another tick that a claim has settled, or this one if it was settled for
// another reason than the claim's own.
func (c *contender) settledLocked(t protocol.Settled) {
	c.open.drop(t.Tick)
	c.s.report(reports.Report{Kind: reports.Settled, Job: c.name, Tick: t.Tick})
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
	c.undoneLocked(t.Tick, t.Outcome, reason)
}

// undoneLocked reports a tick that was settled without a run.
func (c *contender) undoneLocked(tick int64, outcome lease.Outcome, reason string) {
	c.emitLocked(TicksSkipped{Job: c.name, To: utc(tick), Count: 1, Outcome: outcome, Reason: reason})
}

// learnLocked applies what an answer shows of the record.
func (c *contender) learnLocked(a protocol.Answer, tick, now int64, overtaken bool) {
	c.advanceLocked(a.Watermark)
	c.open.drop(tick)
	c.othersLocked(a.Open, tick, now, overtaken)
}
