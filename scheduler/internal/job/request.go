package job

import (
	"time"

	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// Request is a claim, or a request to skip ticks. Once it was sent it is pending: before anything
// else it is sent again, unchanged, until it is answered, because it may have been carried out and
// its reply lost. A request to skip ticks is only sent twice. Then the replica decides again which
// ticks to skip, because more may be late by then.
type Request struct {
	Claim    protocol.Claim
	Skip     *protocol.Skip // nil when it is a claim
	decision plan.Decision  // that made it a skip

	Began     time.Time // when it, or the one that it goes on from, was sent first
	Sent      time.Time // for the last time
	Moment    steady.Instant
	Tries     int
	Overtaken bool // something happened since it was sent, which the answer may not know
	waited    bool // its tick was answered to have to wait before
}

// Skips reports whether there is a request, and it skips ticks.
func (r *Request) Skips() bool { return r != nil && r.Skip != nil }

// Claims reports whether there is a request, and it claims a tick.
func (r *Request) Claims(tick int64) bool { return r != nil && r.Skip == nil && r.Claim.Tick == tick }

// Replaces reports whether there is a request, and it claims a tick that is to take over the room of
// a run.
func (r *Request) Replaces() bool { return r != nil && r.Skip == nil && r.Claim.NoRoom }

// Begin makes a request the pending one, which is sent now, and must arrive until a time.
func (v *View) Begin(r *Request, until time.Time) {
	r.Moment, r.Sent, r.Overtaken = steady.Now(), time.Now(), false
	r.Tries++
	if r.Began.IsZero() {
		r.Began = r.Sent
	}
	if r.Skips() {
		r.Skip.Until = until
	} else {
		r.Claim.Until, r.Claim.Repeated = until, r.Tries > 1
	}
	v.Pending = r
}

func (v *View) claim(tick, now int64) protocol.Claim {
	takeovers := v.Spec.MaxTakeovers
	if v.Spec.Delivery == jobs.AtMostOnce {
		takeovers = 0
	}
	return protocol.Claim{
		Name: v.Name, Tick: tick, Holder: v.ID, Request: v.Request(), TTL: v.TTL,
		Known: v.Known(now), Takeovers: takeovers,
	}
}

// Decide returns the request that follows from the plan for the ticks that are due, or nil if there
// is nothing to request now. settling is as in plan.Situation.
func (v *View) Decide(now int64, settling bool) *Request {
	v.Rest.End()
	d := plan.Decide(plan.Situation{Cursor: v.Cursor, Policies: v.Record.policies(v.Definition), Now: now, Settling: settling})
	switch d.Action {
	case plan.SkipTicks:
		return &Request{decision: d, Skip: &protocol.Skip{
			Name: v.Name, From: v.Cursor.Watermark, To: d.Tick, Outcome: d.Outcome, Request: v.Request(), Holder: v.ID,
			Note: wire.Note{Reason: d.Reason, Count: d.Count}.String(), Revision: v.Stored, NextDue: v.NextDue(d.Tick),
		}}
	case plan.ClaimTick:
		return v.claimNext(d, now)
	case plan.WaitUntil:
		v.Rest.Until(Settling, d.At)
	case plan.DoNothing: // the tick is not due any more
		v.Rest.Until(Resting, now+1)
	}
	return nil
}

// claimNext returns the claim of the tick of a decision, or nil if it cannot be claimed now.
func (v *View) claimNext(d plan.Decision, now int64) *Request {
	if d.Overlap == protocol.OverlapWait && v.Running.Valid() { // the answer is known: it is busy
		v.Cursor = v.Cursor.Planned(d)
		v.Cursor.Blocked, v.Rest.blocked = now, now+ms(v.TTL)
		v.Rest.Until(Blocked, now+ms(v.TTL/2))
		v.Notify(reports.Report{Kind: reports.Busy, Job: v.Name, Tick: d.Tick, Until: v.Rest.blocked})
		return nil
	}
	due := v.Due(d.Tick)
	room := v.Room.Acquire(due+v.Order.Backup(), v.Spec.Weight)
	if replaces := v.Spec.Overlap == jobs.Replace && v.Running.Valid(); !room && v.Record.Paused == nil && !replaces {
		v.WaitForRoom(d.Tick, now) // unless it is skipped, or waits for a run of this replica and takes over its room
		return nil
	}
	v.Cursor = v.Cursor.Planned(d)
	r := &Request{Claim: v.claim(d.Tick, now)}
	if w := v.Rest.waiting; w != nil && w.tick == d.Tick { // goes on from the claim before, whatever it says of the tick
		r.Began, r.waited = w.began, true
	}
	r.Claim.NotBefore = time.UnixMilli(due)
	r.Claim.Revision, r.Claim.NextDue = v.Stored, v.NextDue(d.Tick)
	r.Claim.Overlap, r.Claim.NoRoom = d.Overlap, !room
	if d.Latest != 0 {
		r.Claim.NotAfter = time.UnixMilli(d.Latest)
	}
	return r
}

// Answered makes the job rest after the answer to a claim.
func (v *View) Answered(r *Request, a protocol.Answer, now int64) {
	if v.Rest.after(r, a, now) {
		v.Cursor.Blocked = now
	}
}

// Failed handles a request that failed. It will be sent again after a while, if it still holds.
func (v *View) Failed(r *Request, now int64) {
	if r.Skips() && v.Pending == r {
		if r.Tries == 1 {
			return // at once again
		}
		v.Pending = nil
	}
	v.Rest.Until(Retrying, now+v.Failures.Add(r.Moment))
}

// SkipAnswered applies the watermark that a request to skip ticks was answered. moved reports
// whether this request has moved it; if not, another replica was quicker. It returns the ticks that
// were skipped, or none.
func (v *View) SkipAnswered(r *Request, watermark int64, moved bool) (skipped []Skipped) {
	d := r.decision
	if moved {
		skipped = []Skipped{{d.Tick, d.Count, d.Outcome, d.Reason}}
	} else if watermark < r.Skip.From {
		v.Missing() // the record is gone, or went back in time
		return nil
	}
	if v.Pending == r { // else the job was redefined meanwhile
		v.Cursor = v.Cursor.Planned(d)
	}
	v.Advance(watermark)
	v.Notify(reports.Report{Kind: reports.Decided, Job: v.Name, Tick: watermark, Watermark: true})
	return skipped
}

// ReportAnswer reports the answer to a claim to the other replicas.
func (v *View) ReportAnswer(claim *protocol.Claim, a protocol.Answer, now int64) {
	r := reports.Report{Job: v.Name, Tick: claim.Tick, Watermark: !claim.OnlyOpen && a.Watermark >= claim.Tick}
	switch a.Status {
	case protocol.Granted:
		r.Kind, r.Until = reports.Granted, now+ms(claim.TTL)
		v.Doubt.decided(claim.Tick)
	case protocol.Held:
		r.Kind, r.Until = reports.Granted, now+ms(a.Remaining)
	case protocol.Queued:
		r.Kind, r.Until = reports.Queued, now+ms(a.Remaining)
	case protocol.Busy:
		r.Kind, r.Until = reports.Busy, now+ms(a.Remaining)
	case protocol.Decided:
		r.Kind = reports.Settled
	case protocol.Skipped, protocol.Paused, protocol.Lost:
		r.Kind = reports.Settled
		v.Doubt.decided(claim.Tick)
	default:
		return
	}
	v.Notify(r)
	if a.Watermark > claim.Tick {
		v.Notify(reports.Report{Kind: reports.Decided, Job: v.Name, Tick: a.Watermark, Watermark: true})
	}
}
