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

	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
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
	Report func(r reports.Report, to []string)                 // tells some of them something; all if to is nil
	Away   func() int64                                        // since when the store does not answer; 0 if it does
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
	Standing
	Open     Looks // at ticks that others hold or held, or that wait
	Apart    Apart
	Rest     Rest
	Room     admission.Room
	Pending  *Request // nil when there is none
	Failures storehealth.Failures
	Running  runs.Held // by this replica
	Ended    runs.Last // as far as is known
}

// New returns what a replica knows of a job before it has read the record.
func New(r *Replica, d *plan.Definition, room admission.Room) View {
	v := View{Standing: Standing{Replica: r, Name: d.Job.Name()}, Room: room}
	if r != nil {
		v.Order.peers = r.Peers
	}
	v.Define(d)
	return v
}

// Redefine replaces the definition of a job that had another one.
func (v *View) Redefine(d *plan.Definition) {
	v.Define(d)
	v.Order.ranking, v.Record.defined, v.Record.edited, v.Record.had = nil, false, 0, nil
	v.Cursor = plan.Cursor{Watermark: v.Cursor.Watermark}
	v.Hints.next = unknownTick
	v.Record.Forget() // the store has to say since when the job has this schedule
	if v.Pending.Skips() {
		v.Pending = nil // those were ticks of the other schedule
	}
}

// Restore prepares a stored schedule for its record to be read again, which has that definition.
func (v *View) Restore(d *plan.Definition) {
	if v.Stored != d.Stored {
		v.Redefine(d)
	}
	v.Define(d)
	v.Doubt = Doubt{} // the store alone knows of it
}

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

// Questioned handles a question about the job from a replica that knows this watermark. If this
// replica may know more, it writes that back.
func (v *View) Questioned(id reports.InquiryID, watermark, now int64) {
	v.Doubt.enter(id, now+ms(v.Answering))
	if v.Record.IsRead() && (v.Watermark() > watermark || v.Doubt.own >= watermark || len(v.Running) > 0) {
		v.Confirm(now)
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
	if v.Order.pass(tick, v.Room.Max) {
		v.Report(reports.Report{Kind: reports.Full, Job: v.Name, Tick: tick}, nil)
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
	if v.Apart.is {
		v.asHeard(&a)
	}
	return overdue(a)
}

// ms rounds up to whole milliseconds.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Record is what is known of a job's record besides its ticks.
type Record struct {
	reading reading
	made    bool            // there has been one before
	defined bool            // it has taken the definition
	since   int64           // since when the store remembered when it was read
	Paused  *protocol.Pause // as the store said; nil when it is not
	resumed int64           // see plan.Policies
	edited  int64           // the same
	had     func(tick int64) bool
}

// reading is whether a record is to be read.
type reading int8

const (
	unread     reading = iota // before anything else is done
	confirming                // the same, but to confirm hints: nothing else has changed
	stale                     // again, while the job goes on
	read                      // it is not
)

// IsRead reports whether the record was read and is there, so that ticks may be claimed.
func (r *Record) IsRead() bool { return r.reading >= stale }

// NeedsReading reports whether the record is to be read.
func (r *Record) NeedsReading() bool { return r.reading != read }

// Forget has the record read before anything else is done.
func (r *Record) Forget() { r.reading = unread }

// confirm has the record read to confirm hints.
func (r *Record) confirm() {
	if r.IsRead() {
		r.reading = confirming
	}
}

// Resumption returns when the last pause ended, if that is known.
func (r *Record) Resumption() time.Time { return wire.FromMilli(r.resumed) }

// Verify has the record read again while the job goes on, because others may have run the tick that
// waits for room.
func (r *Record) Verify() { r.reading = min(r.reading, stale) }

// Resume notes that a claim has found the job not paused any more.
func (r *Record) Resume() (was bool) {
	was = r.Paused != nil
	r.Paused = nil
	return was
}

// policies returns those in the definition and in the record.
func (r *Record) policies(d *plan.Definition) *plan.Policies {
	return &plan.Policies{Spec: d.Spec, TickAfter: d.TickAfter, Due: d.Due, Edited: r.edited, Had: r.had, Resumed: r.resumed}
}

// ReadRequest returns what the store needs to read the record, or to make it. since is when the store
// began to remember.
func (v *View) ReadRequest(now, since int64, until time.Time) protocol.Sync {
	known := v.Known(now)
	y := protocol.Sync{
		Name: v.Name, Known: known, Watermark: v.LastDue(now), Revision: v.Job.ScheduleRevision(), Schedule: plan.ScheduleText(v.Job),
		Paused: v.Record.Paused, Policy: wire.PolicyOf(v.Job.Spec()), Defines: !v.Record.defined, Until: until,
	}
	switch {
	case !v.Record.made:
	case since > v.Record.since:
		// A tick that was due after the loss cannot have been granted before it, but for one that
		// others have reported: their definition may differ. Of the rest nobody knows.
		y.Watermark = max(v.LastDue(since), min(v.Hints.watermark, since), known)
	case known > 0: // the record is gone alone
		y.Watermark = known
	}
	return y
}

// Read applies a record that was read. lost reports that it has lost something although the store
// remembers as far back as before; then the other replicas were asked. skipped are ticks that nobody
// will run.
func (v *View) Read(r protocol.Record, since, now int64) (lost bool, skipped []Skipped) {
	made := v.Record.made
	v.Apart.is, v.Apart.heard = false, now
	if lost = v.Doubt.read(r, made && v.Record.since == since); lost {
		v.ask(v.Cursor.Watermark, now)
	}
	if r.Made && made {
		skipped = v.remade(r, since)
	}
	if r.Made && !v.Doubt.proven {
		v.Hints = Hints{}
	}
	if v.Record.reading == unread { // every replica has read its records at about this time
		v.Order.from = now
	}
	v.Record = Record{reading: read, made: true, defined: true, since: since, Paused: r.Paused}
	if !r.Resumed.IsZero() {
		v.Record.resumed = r.Resumed.UnixMilli()
	}
	if !r.Revised.IsZero() {
		v.Record.edited, v.Record.had = r.Revised.UnixMilli(), plan.ReadEditions(v.Name, r.Schedules).Had(v.Due)
	}
	if r.Watermark < v.Cursor.Watermark && v.IsAhead(v.Cursor.Watermark, now) { // it was brought back
		v.Cursor.Watermark, v.Cursor.Next = 0, 0
	}
	for _, settled := range r.Settled {
		v.Ended.Add(settled.Outcome, settled.At.UnixMilli())
	}
	v.Advance(r.Watermark)
	if v.Hints.read(r.Watermark, v.Cursor.Watermark) {
		v.ask(r.Watermark, now)
	}
	v.Others(Answer{Now: now}, r.Open, 0)
	if tick := v.TickAfter(0); r.Made && !made && v.Cursor.Next == 0 && tick != 0 { // a single instant, and it never runs
		skipped = append(skipped, Skipped{tick, 1, wire.Missed, wire.ReasonPast})
	}
	return lost, skipped
}

// remade handles a record that the store had lost and has made again, and returns the ticks that
// nobody will run.
func (v *View) remade(r protocol.Record, since int64) (skipped []Skipped) {
	known := v.Watermark()
	if tick := v.TickAfter(known); tick != 0 && tick <= r.Watermark {
		p := plan.Policies{Spec: v.Spec, TickAfter: v.TickAfter, Due: func(t int64) int64 { return t }}
		d := plan.Situation{Cursor: plan.Cursor{Watermark: known, Next: tick}, Policies: &p}.SkipUpTo(r.Watermark, wire.Missed, wire.ReasonForgotten)
		skipped = append(skipped, Skipped{d.Tick, d.Count, wire.Missed, wire.ReasonForgotten})
	}
	if v.Spec.Overlap != jobs.Allow { // what runs may be in the way of what comes
		v.Rest.notBefore = since + ms(v.Reporting)
	}
	for _, l := range v.Open { // nobody knows whether it was granted
		if l.kind == queued && !slices.ContainsFunc(r.Open, func(o protocol.Open) bool { return o.Tick == l.tick }) {
			skipped = append(skipped, Skipped{l.tick, 1, wire.Missed, wire.ReasonForgotten})
		}
	}
	return skipped
}
