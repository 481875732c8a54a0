package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// request is a claim, or a request to skip ticks. Once it was sent it is pending: before anything
// else it is sent again, unchanged, until it is answered, because it may have been carried out and
// its reply lost. A request to skip ticks is only sent twice. Then the contender decides again
// which ticks to skip, because more may be late by then.
type request struct {
	claim    protocol.Claim
	skip     *protocol.Skip // nil when it is a claim
	decision plan.Decision  // that made it a skip

	began     time.Time // when it, or the one that it goes on from, was sent first
	sent      time.Time // for the last time
	moment    steady.Instant
	tries     int
	overtaken bool // something happened since it was sent, which the answer may not know
	waited    bool // its tick was answered to have to wait before
}

// waitingTick is a tick that waits for an earlier one to end.
type waitingTick struct {
	tick  int64
	began time.Time // when it was claimed first
}

func (r *request) skips() bool { return r != nil && r.skip != nil }

// claimsTick reports whether the request claims a tick.
func (r *request) claimsTick(tick int64) bool {
	return r != nil && r.skip == nil && r.claim.Tick == tick
}

// replaces reports whether the request claims a tick that is to take over the room of a run.
func (r *request) replaces() bool { return r != nil && r.skip == nil && r.claim.NoRoom }

// reply is the result of a request.
type reply struct {
	received time.Time
	failed   bool // the request has to be sent again
	answer   protocol.Answer
	// Of a skip: the watermark, and whether it was this request that has moved it.
	watermark int64
	skipped   bool
}

// firstRetry and lastRetry bound the wait after a failure, which doubles each time. It ends early
// when the store answers again: see recovered.
const firstRetry, lastRetry = 50, 1000 // ms

// lateRetry is the wait after a claim that came too late by the store's clock, but not by the
// estimate. Without it the claim would be repeated at once until the two agree.
const lateRetry = 10 // ms

func (c *contender) claim(tick int64) protocol.Claim {
	takeovers := c.Spec.MaxTakeovers
	if c.Spec.Delivery == jobs.AtMostOnce {
		takeovers = 0
	}
	return protocol.Claim{
		Name: c.name, Tick: tick, Holder: c.s.replica, Request: c.s.request(), TTL: c.s.ttl,
		Known: c.knownLocked(), Takeovers: takeovers,
	}
}

func (c *contender) skip(d plan.Decision) *protocol.Skip {
	return &protocol.Skip{
		Name: c.name, From: c.cursor.Watermark, To: d.Tick, Outcome: d.Outcome, Request: c.s.request(), Holder: c.s.replica,
		Note: wire.Note{Reason: d.Reason, Count: d.Count}.String(),
	}
}

// knownLocked returns the watermark that a store which has lost it gets back. A watermark that is
// further ahead than the store's clock may step unnoticed comes from a wrong clock, and is not
// written back.
//
// Nor is a watermark that others have only reported, so that a wrong report cannot make a tick
// lost. It is written back if the record has certainly lost something, or with delivery at most
// once, where a tick may be lost but must not run twice.
func (c *contender) knownLocked() int64 {
	switch {
	case c.aheadLocked():
		return 0
	case c.Spec.Delivery == jobs.AtMostOnce, c.doubt.proven:
		return c.hintedWatermarkLocked()
	default:
		return c.cursor.Watermark
	}
}

// aheadLocked reports whether the watermark is in the future.
func (c *contender) aheadLocked() bool {
	return c.cursor.Watermark > c.s.clock.Ms()+c.s.trust.Limit.Milliseconds()
}

// beginLocked makes a request the pending one and returns it, to be sent now.
func (c *contender) beginLocked(r *request) *request {
	r.moment, r.sent, r.overtaken = steady.Now(), time.Now(), false
	r.tries++
	if r.began.IsZero() {
		r.began = r.sent
	}
	if r.skips() {
		r.skip.Until = c.s.until()
	} else {
		r.claim.Until, r.claim.Repeated = c.s.until(), r.tries > 1
		c.boundTakeoverLocked(&r.claim)
	}
	c.pending = r
	return r
}

// ask sends a request to the store and waits for the reply. The mutex must not be locked.
func (c *contender) ask(r *request) reply {
	var a reply
	var err error
	ctx := c.s.calls.Context(r.sent)
	if r.skips() {
		a.watermark, a.skipped, err = c.s.store.Skip(ctx, *r.skip)
		c.s.inflight.Answered(r.sent, err)
		kind := storehealth.Reads
		if a.skipped {
			kind = storehealth.Writes
		}
		c.s.bounded(kind, r.sent, err)
		a.failed = err != nil
		return a
	}
	a.answer, err = c.s.store.Claim(ctx, r.claim)
	a.received = time.Now()
	c.s.inflight.Answered(r.sent, err)
	c.s.answered(storehealth.ClaimKind(a.answer, err), a.received.Sub(r.sent), err)
	if err == nil {
		c.s.clockSeen(r.sent, a.received, a.answer.Now)
		if c.s.observed {
			c.s.observe(Claimed{Job: c.name, Tick: utc(r.claim.Tick), Status: a.answer.Status, Took: time.Since(r.began)})
		}
	}
	a.failed = err != nil || a.answer.Status == protocol.OutOfBounds // a look at the clock comes before the next try
	return a
}

// receiveLocked applies the reply to a request.
func (c *contender) receiveLocked(r *request, a reply) {
	if a.failed {
		c.failedLocked(r)
		return
	}
	if now := steady.Now(); c.silentLocked(now) {
		c.contact = now
	}
	c.rest, c.failures, c.failing = rest{}, 0, 0
	if r.skips() {
		c.skippedLocked(r, a)
	} else {
		c.claimedLocked(r, a)
	}
	if c.pending == r { // else it was given up while it was under way
		c.pending = nil
	}
}

// failedLocked handles a request that failed.
func (c *contender) failedLocked(r *request) {
	if r.skips() && r.tries == 1 && c.pending == r {
		return // at once again
	}
	if r.skips() && c.pending == r {
		c.pending = nil
	}
	if c.failing == 0 {
		c.failing = r.moment
	}
	wait := min(int64(firstRetry)<<min(c.failures, 10), lastRetry)
	c.failures++
	c.rest = rest{retrying, c.s.clock.Ms() + wait}
}

// skippedLocked handles the reply to a request to skip ticks. Another replica may have been
// quicker.
func (c *contender) skippedLocked(r *request, a reply) {
	d := r.decision
	if a.skipped {
		c.emitLocked(TicksSkipped{Job: c.name, To: utc(d.Tick), Count: d.Count, Outcome: d.Outcome, Reason: d.Reason})
	} else if a.watermark < r.skip.From {
		c.forgottenLocked() // the record is gone, or went back in time
		return
	}
	if c.pending == r { // else the job was redefined meanwhile
		c.cursor = c.cursor.Planned(d)
	}
	c.advanceLocked(a.watermark)
	c.s.report(reports.Report{Kind: reports.Decided, Job: c.name, Tick: a.watermark, Watermark: true})
}

func (c *contender) advanceLocked(watermark int64) {
	c.cursor = c.cursor.Advance(watermark, c.TickAfter)
}
