package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"slices"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// syncedLocked applies the record that was read.
func (c *contender) syncedLocked(r protocol.Record) {
	fresh := r.Made && !c.made
	if r.Made {
		if c.made {
			c.lostLocked(r)
		}
		if !c.doubt.proven {
			c.hints = hints{}
		}
	}
	if !c.confirming { // every replica has read its records at about this time
		c.from = c.s.clock.Ms()
	}
	c.record = record{synced: true, made: true, defined: true, since: c.since, paused: r.Paused}
	if !r.Resumed.IsZero() {
		c.resumed = r.Resumed.UnixMilli()
	}
	if !r.Revised.IsZero() {
		c.edited, c.had = r.Revised.UnixMilli(), plan.ReadEditions(c.name, r.Schedules).Had(c.Due)
	}
	if r.Watermark < c.cursor.Watermark && c.aheadLocked() { // it was brought back
		c.cursor.Watermark, c.cursor.Next = 0, 0
	}
	for _, settled := range r.Settled {
		c.outcomeLocked(settled.Outcome, settled.At.UnixMilli())
	}
	c.advanceLocked(r.Watermark)
	c.confirmedLocked(r.Watermark)
	c.othersLocked(r.Open, 0, c.s.clock.Ms(), false)
	if tick := c.TickAfter(0); fresh && c.cursor.Next == 0 && tick != 0 { // a single instant, and it never runs
		c.undoneLocked(tick, wire.Missed, wire.ReasonPast)
	}
}

// outcomeLocked remembers when a run was settled, and how.
func (c *contender) outcomeLocked(outcome lease.Outcome, at int64) {
	switch outcome {
	case wire.Succeeded:
		c.lastSuccess = max(c.lastSuccess, at)
	case wire.Failed:
		c.lastFailure = max(c.lastFailure, at)
	default: // nobody's work ended
	}
}

// lostLocked handles a record that the store had lost and has made again.
func (c *contender) lostLocked(r protocol.Record) {
	known := c.hintedWatermarkLocked()
	if tick := c.TickAfter(known); tick != 0 && tick <= r.Watermark {
		p := plan.Policies{Spec: c.Spec, TickAfter: c.TickAfter, Due: func(t int64) int64 { return t }}
		d := plan.Situation{Cursor: plan.Cursor{Watermark: known, Next: tick}, Policies: &p}.SkipUpTo(r.Watermark, wire.Missed, wire.ReasonForgotten)
		c.emitLocked(TicksSkipped{Job: c.name, To: utc(d.Tick), Count: d.Count, Outcome: wire.Missed, Reason: wire.ReasonForgotten})
	}
	if c.Spec.Overlap != jobs.Allow { // what runs may be in the way of what comes
		c.notBefore = c.since + ms(reportedWithin)
	}
	for _, l := range c.open { // nobody knows whether it was granted
		if l.waits && !l.triggered && !slices.ContainsFunc(r.Open, func(o protocol.Open) bool { return o.Tick == l.tick }) {
			c.undoneLocked(l.tick, wire.Missed, wire.ReasonForgotten)
		}
	}
}

// storeForgot handles a store that has lost its records: they must be made again before anything is
// claimed. A claim of an open tick is still repeated, because it may have been granted.
func (c *contender) storeForgot() {
	c.mu.Lock()
	defer c.unlock()
	c.synced = false
	if c.pending != nil && !c.pending.claim.OnlyOpen {
		c.pending = nil
	}
}
