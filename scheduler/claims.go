package scheduler

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/protocol"
)

// The wait after an error is doubled from one to the other, while nothing succeeds in between. After an absence of the
// store it is cut short: see recovered.
const firstRetry, lastRetry = 50, 1000 // ms

// lateRetry is the wait after a claim that came too late by the store's clock, but not yet by our idea of it: without one
// it would be made again and again until the two agree.
const lateRetry = 10 // ms

func (c *contender) retryLocked() int64 {
	wait := min(int64(firstRetry)<<min(c.failures, 10), lastRetry)
	c.failures++
	return c.s.clock.ms() + wait
}

func (c *contender) claim(tick int64) protocol.Claim {
	takeovers := c.spec.MaxTakeovers
	if c.spec.Delivery == jobs.AtMostOnce {
		takeovers = 0
	}
	return protocol.Claim{
		Name: c.name, Occasion: tick, Holder: c.s.replica, Request: c.s.request(), Term: c.s.term,
		Known: c.knownLocked(), Takeovers: takeovers,
	}
}

// knownLocked is the mark as a store that has lost it gets it back. One that lies further ahead than the store's clock
// may step without being noticed comes from a clock that was wrong, and is not written back.
//
// What others have only reported is not written back, so that no report, however wrong, makes a tick lost. It is with
// delivery at most once, where a tick may be lost but not run twice.
func (c *contender) knownLocked() int64 {
	switch {
	case c.aheadLocked():
		return 0
	case c.spec.Delivery == jobs.AtMostOnce:
		return c.hintedWatermarkLocked()
	default:
		return c.cursor.watermark
	}
}

// aheadLocked reports whether the mark lies in the future.
func (c *contender) aheadLocked() bool {
	return c.cursor.watermark > c.s.clock.ms()+c.s.trust.limit.Milliseconds()
}

// claimLocked sends a claim and takes in the answer.
func (c *contender) claimLocked(a *asking) bool {
	c.mu.Unlock()
	sent, began := lease.Sent(), time.Now()
	if a.began.IsZero() {
		a.began = began
	}
	a.claim.Until, a.claim.TakeoverUntil = c.s.until(), c.s.takeoverUntil()
	c.s.crew.away()
	answer, err := c.s.store.Claim(c.s.calls.context(began), a.claim)
	c.s.crew.back()
	received := time.Now()
	c.s.inflight.answered(began, err)
	c.s.answered(received.Sub(began), err)
	if err == nil {
		c.s.clockSeen(began, received, answer.Now)
		if c.s.observed {
			c.s.observe(Claimed{Job: c.name, Tick: time.UnixMilli(a.claim.Occasion).UTC(), Status: answer.Status, Took: time.Since(a.began)})
		}
	}
	c.mu.Lock()
	tick := a.claim.Occasion
	a.sent = began
	if err != nil || answer.Status == protocol.OutOfBounds { // a look at the clock comes before the next try
		at := c.retryLocked()
		if l, ok := c.open[tick]; ok && l.asking == a {
			l.at = at
			c.open[tick] = l
		}
		c.retryAt = at
		return false
	}
	a.answered, c.failures = true, 0
	if answer.Status == protocol.Unknown {
		c.forgottenLocked()
		return false
	}
	now := c.s.clock.msAt(received)
	c.learnLocked(answer, tick, now)
	if a.claim.OnlyOpen && answer.Status == protocol.Decided && answer.Mark < c.hints.watermark {
		c.confirmLocked() // the grant that was reported is not there
	} else {
		c.reportLocked(&a.claim, answer, now)
	}

	wait := int64(0)
	switch answer.Status {
	case protocol.Granted:
		c.began = true
		if !a.claim.OnlyOpen { // what is open is granted while the job is paused, too
			c.paused = nil
		}
		c.s.tookOver(c.name, tick, answer)
		l := c.s.begin(c, a.claim, answer, sent)
		c.running[tick] = l
		if c.poked && c.spec.Overlap == jobs.Replace {
			l.Check() // it may have been for this one
		}
	case protocol.Held, protocol.Queued:
		c.open[tick] = c.lookAfterLocked(now, answer.Left, answer.Status == protocol.Queued, answer.Holder)
	case protocol.Paused:
		if c.paused == nil { // by whom, and why: the store may forget it
			c.synced = false
			c.s.wantSync()
		}
		c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Skipped, Reason: ReasonPaused})
	case protocol.Skipped:
		reason := ReasonOverlap
		if a.claim.Overlap == protocol.OverlapAllow {
			reason = ReasonOpen // nothing else is in its way
		}
		c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Skipped, Reason: reason})
	case protocol.Lost:
		c.lost(tick)
	case protocol.Early:
		wait = ms(answer.Left) + 1
	case protocol.Late:
		wait = lateRetry
	case protocol.Busy:
		// Woken when the other ends, by the store or by our own run; at the latest when its lease would run out.
		wait = ms(answer.Left) + 1 + rand.Int64N(50)
		c.cursor.blocked = now
	case protocol.Decided, protocol.Unknown, protocol.OutOfBounds: // the mark, or the next plan, says what follows
	}
	for _, t := range answer.Settled {
		c.settledLocked(t)
	}
	if c.asking == a {
		if a.busy && answer.Status != protocol.Busy {
			c.cursor.blocked = now
		}
		a.busy = answer.Status == protocol.Busy
		if !a.busy {
			c.asking = nil
		}
	}
	if wait > 0 && !c.poked { // what it would wait for may have happened
		c.retryAt = now + wait
	}
	return true
}

// settledLocked is told that a claim has settled another tick besides, or this one for another reason than its own.
func (c *contender) settledLocked(t protocol.Settled) {
	delete(c.open, t.Occasion)
	c.s.report(report{kind: progressSettled, job: c.name, tick: t.Occasion})
	p := Passed{Job: c.name, To: time.UnixMilli(t.Occasion).UTC(), Count: 1, Outcome: t.Outcome, Reason: ReasonNewer}
	switch t.Outcome {
	case Lost:
		p.Reason = ReasonTakeovers
	case Cancelled:
		p.Reason = ReasonCancelled
	default: // it made room for a newer tick
	}
	c.s.observe(p)
}

func (c *contender) lost(tick int64) {
	delete(c.open, tick)
	c.lostOne(tick)
}

func (c *contender) lostOne(tick int64) {
	c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Lost, Reason: ReasonTakeovers})
}

// learnLocked takes in what an answer tells of the record.
func (c *contender) learnLocked(a protocol.Answer, tick, now int64) {
	c.advanceLocked(a.Mark)
	if tick != 0 && len(c.open) > 0 {
		delete(c.open, tick)
	}
	c.othersLocked(a.Open, tick, now)
}

func (c *contender) advanceLocked(watermark int64) {
	c.cursor = c.cursor.advance(watermark, c.tickAfter)
}

// passLocked settles ticks that nobody runs.
func (c *contender) passLocked(d decision) bool {
	p := protocol.Pass{
		Name: c.name, From: c.cursor.watermark, To: d.tick, Outcome: d.outcome, Request: c.s.request(), Holder: c.s.replica,
		Note: fleet.Note{Reason: string(d.reason), Count: d.count}.String(),
	}
	for try := 0; ; try++ {
		c.mu.Unlock()
		began := time.Now()
		p.Until = c.s.until()
		c.s.crew.away()
		mark, passed, err := c.s.store.Pass(c.s.calls.context(began), p)
		c.s.crew.back()
		c.s.inflight.answered(began, err)
		out := c.s.bounded(began, err)
		c.mu.Lock()
		switch {
		case err != nil && try == 0 && !out:
			continue // the same request: should it have been done already, it is ours all the same
		case err != nil:
			c.retryAt = c.retryLocked()
			return false
		case passed:
			c.s.observe(Passed{Job: c.name, To: time.UnixMilli(p.To).UTC(), Count: d.count, Outcome: d.outcome, Reason: d.reason})
		case mark < p.From:
			c.forgottenLocked() // the record is gone, or went back in time
			return false
		}
		c.cursor, c.failures = c.cursor.planned(d), 0
		c.advanceLocked(mark)
		c.s.report(report{kind: progressDecided, job: c.name, tick: mark, watermark: true})
		return true
	}
}

// forgottenLocked leaves it to the syncer to make the record anew.
func (c *contender) forgottenLocked() {
	c.synced, c.asking = false, nil
	c.s.wantSync()
}

// syncedLocked takes in the record that the store has.
func (c *contender) syncedLocked(r protocol.Record) {
	if r.Made && c.made {
		known := c.hintedWatermarkLocked()
		if tick := c.tickAfter(known); tick != 0 && tick <= r.Mark {
			p := policies{spec: &c.spec, tickAfter: c.tickAfter, due: func(t int64) int64 { return t }}
			d := situation{cursor: cursor{watermark: known, next: tick}, policies: &p}.skipUpTo(r.Mark, Missed, ReasonForgotten)
			c.s.observe(Passed{Job: c.name, To: time.UnixMilli(d.tick).UTC(), Count: d.count, Outcome: Missed, Reason: ReasonForgotten})
		}
		if c.spec.Overlap != jobs.Allow { // what runs may be in the way of what comes
			c.notBefore = c.since + ms(heardOf)
		}
		for t, l := range c.open { // nobody can tell whether it was granted
			if l.waits && !l.told && !slices.ContainsFunc(r.Open, func(o protocol.Open) bool { return o.Occasion == t }) {
				c.s.observe(Passed{Job: c.name, To: time.UnixMilli(t).UTC(), Count: 1, Outcome: Missed, Reason: ReasonForgotten})
			}
		}
	}
	if r.Made {
		c.hints = hints{}
	}
	if !c.confirming { // every replica has read its records at about this time
		c.from = c.s.clock.ms()
	}
	c.confirming = false
	fresh := r.Made && !c.made
	c.synced, c.stale, c.made = true, false, true
	c.paused, c.edited, c.before = r.Paused, 0, nil
	if !r.Revised.IsZero() {
		c.edited, c.before = r.Revised.UnixMilli(), readEditions(c.name, r.Schedules)
	}
	if r.Mark < c.cursor.watermark && c.aheadLocked() { // it was brought back
		c.cursor.watermark, c.cursor.next = 0, 0
	}
	c.advanceLocked(r.Mark)
	c.confirmedLocked(r.Mark)
	c.othersLocked(r.Open, 0, c.s.clock.ms())
	if tick := c.tickAfter(0); fresh && c.cursor.next == 0 && tick != 0 { // a single instant, and it never runs
		c.s.observe(Passed{Job: c.name, To: time.UnixMilli(tick).UTC(), Count: 1, Outcome: Missed, Reason: ReasonPast})
	}
}
