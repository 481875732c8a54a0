package job

import (
	"slices"
	"time"

	"github.com/solotick/solotick/scheduler/internal/plan"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

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
		v.Turn.from = now
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
