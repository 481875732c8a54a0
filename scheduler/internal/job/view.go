// Package job holds what a replica knows of one job ([View]), and what follows from it: when it acts
// next and why ([Step]). It is made of values, each of which knows one thing. They know no store, no
// lock and no goroutine, and are told the time.
package job

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/runs"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Replica is what the jobs of a replica share.
type Replica struct {
	ID        string
	TTL       time.Duration
	Peers     *membership.Peers
	Request   func() string // returns an id that no other request of the fleet has
	MaxStep   time.Duration // of fleet time, that may go unnoticed
	Reporting time.Duration // how long after a loss the other replicas have written their runs back
	Answering time.Duration // how long an inquiry lasts at most

	Sync   func()                                              // has the records read that need it
	Ask    func(job string, watermark int64) reports.InquiryID // asks the live members what they know of a job
	Report func(reports.Report)                                // tells them something
	// Wait returns how long a claim must wait before it may take over from a holder that was out of
	// reach, as this replica may have been. may reports whether it may take over other leases now.
	Wait func(job string, f *storehealth.Failures) (wait time.Duration, may bool)
}

// IsAhead reports whether a watermark is so far in the future that it comes from a wrong clock.
func (r *Replica) IsAhead(watermark, now int64) bool {
	return watermark > now+r.MaxStep.Milliseconds()
}

// View is what a replica knows of a job, and what it is about to do. All times are Unix ms of fleet
// time, and 0 is none. Its methods must be called with the lock of the job.
type View struct {
	*Replica
	Name string
	*plan.Definition

	Cursor   plan.Cursor
	Record   Record
	Hints    Hints
	Doubt    Doubt
	Open     Looks // at ticks that others hold or held, or that wait
	Turn     Turn
	Rest     Rest
	Room     admission.Room
	Pending  *Request // nil when there is none
	Failures storehealth.Failures
	Running  runs.Held // by this replica
	Ended    runs.Last // as far as is known
}

// New returns what a replica knows of a job before it has read the record.
func New(r *Replica, d *plan.Definition, room admission.Room) View {
	v := View{Replica: r, Name: d.Job.Name(), Room: room}
	if r != nil {
		v.Turn.peers = r.Peers
	}
	v.Define(d)
	return v
}

// Define replaces the definition of the job by one that is equal, but for the handler.
func (v *View) Define(d *plan.Definition) { v.Definition, v.Turn.definition = d, d }

// Redefine replaces the definition of a job that had another one.
func (v *View) Redefine(d *plan.Definition) {
	v.Define(d)
	v.Turn.ranking, v.Record.defined, v.Record.edited, v.Record.had = nil, false, 0, nil
	v.Cursor = plan.Cursor{Watermark: v.Cursor.Watermark}
	v.Hints.next = unknownTick
	v.Record.Forget() // the store has to say since when the job has this schedule
	if v.Pending.Skips() {
		v.Pending = nil // those were ticks of the other schedule
	}
}

// Advance applies a watermark that the store has answered.
func (v *View) Advance(watermark int64) { v.Cursor = v.Cursor.Advance(watermark, v.TickAfter) }

// ClockChanged drops every plan that was made by the former clock.
func (v *View) ClockChanged(now int64) {
	v.Rest.End()
	v.Rest.notBefore, v.Cursor, v.Hints = 0, v.Cursor.Replan(), Hints{}
	v.Record.Forget()
	v.Open.all(now)
}

// StoreForgot handles a store that has lost its records: they must be made again before anything is
// claimed. A claim of an open tick is still repeated, because it may have been granted.
func (v *View) StoreForgot() {
	v.Record.Forget()
	if v.Pending != nil && !v.Pending.Claim.OnlyOpen {
		v.Pending = nil
	}
}

// Missing handles a record that a request did not find, or that is older than this replica has seen
// it. It is made again, or read when others have brought it back.
func (v *View) Missing() {
	v.Record.Forget()
	v.Pending = nil
	v.Doubt.missing = true
	v.Sync()
}

// Confirm has the record read, because reports are not enough to decide about a tick.
func (v *View) Confirm(now int64) {
	v.Record.confirm()
	v.Doubt.asked = v.Doubt.asked && v.Doubt.ends(now, ms(v.Answering)) != 0
	v.Sync()
}

// KnowsBest reports whether this replica probably knows best what became of the newest tick: it
// decided that tick, or claims the job's ticks first or second.
func (v *View) KnowsBest() bool { return v.Turn.Place().Rank <= 1 || v.Doubt.own >= v.Watermark() }

// Questioned handles a question about the job from a replica that knows this watermark. If this
// replica may know more, it writes that back.
func (v *View) Questioned(id reports.InquiryID, watermark, now int64) {
	v.Doubt.enter(id, now+ms(v.Answering))
	if v.Record.IsRead() && (v.Cursor.Watermark > watermark || v.Doubt.own >= watermark || len(v.Running) > 0) {
		v.Confirm(now)
	}
}

// ask asks the live members what they know of the job, unless somebody has asked already. watermark
// is what the record has.
func (v *View) ask(watermark, now int64) {
	v.Doubt.asked = true
	if v.Doubt.ends(now, ms(v.Answering)) == 0 {
		v.Doubt.enter(v.Ask(v.Name, watermark), now+ms(v.Answering))
	}
}

// Known returns the watermark that a store which has lost it gets back. A watermark that is further
// ahead than the store's clock may step unnoticed comes from a wrong clock, and is not written back.
//
// Nor is a watermark that others have only reported, so that a wrong report cannot make a tick lost.
// It is written back if the record has certainly lost something, or with delivery at most once,
// where a tick may be lost but must not run twice.
func (v *View) Known(now int64) int64 {
	switch {
	case v.IsAhead(v.Cursor.Watermark, now):
		return 0
	case v.Spec.Delivery == jobs.AtMostOnce, v.Doubt.proven:
		return v.Watermark()
	default:
		return v.Cursor.Watermark
	}
}

// WaitForRoom lets a tick wait for room, until it is a misfire after its grace. If an earlier tick
// of the job runs, the two overlap, as they would if there had been room for the claim.
func (v *View) WaitForRoom(tick, now int64) {
	v.Cursor.Full = now
	due := v.Due(tick)
	at := due + v.Record.policies(v.Definition).Grace() + 1
	if v.InTurn() && (len(v.Running) > 0 || v.Open.held()) {
		v.Cursor.Blocked = now
		if v.Spec.Overlap == jobs.Forbid && now <= due+plan.Promptly {
			at = due + plan.Promptly + 1
		}
	}
	if at <= now { // it is a misfire, and waits for a newer one to take its place
		at = now + ms(v.TTL)
		if next := v.TickAfter(now); next != 0 {
			at = min(at, v.Due(next))
		}
	}
	v.Rest.Until(Crowded, max(at, now+1))
	v.pass(tick)
}

// pass reports at once that this replica has no room for a tick that it claims before others.
func (v *View) pass(tick int64) {
	if v.Turn.pass(tick, v.Room.Max) {
		v.Report(reports.Report{Kind: reports.Full, Job: v.Name, Tick: tick})
	}
}

// Skipped describes ticks that were settled without a run, up to To.
type Skipped struct {
	To      int64
	Count   int
	Outcome lease.Outcome
	Reason  string
}

// Overdue returns how long the job has been overdue, as far as this replica knows, in ms. known is
// since when it knows the job.
func (v *View) Overdue(now, known int64) int64 {
	a := awaited{
		now: now, grace: v.Record.policies(v.Definition).Grace(), edited: v.Record.edited, blocked: v.Rest.blocked,
		paused: v.Spec.Paused || v.Record.Paused != nil, free: v.Open.free(now),
	}
	next := v.Next()
	if next == 0 && !v.Record.IsRead() { // the store has not said where the job stands
		next = v.TickAfter(max(known, v.Cursor.Watermark))
	}
	if next != 0 {
		a.due = v.Due(next)
	}
	return overdue(a)
}

// ms rounds up to whole milliseconds.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
