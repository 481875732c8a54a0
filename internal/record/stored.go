package record

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

const (
	// keptAfter is how long a schedule without further ticks is kept after the last one was settled, for
	// people to look at.
	keptAfter = 7 * 24 * time.Hour
	// aheadMost is how far the clock of who puts a schedule may be ahead of the store's.
	aheadMost = 5 * time.Second
)

// Put answers a valid put.
func (r *Record) Put(p protocol.Put, at *Moment) protocol.PutAnswer {
	after := time.UnixMilli(p.After)
	if err := inBounds(p.Until, at); err != nil {
		return protocol.PutAnswer{Err: err}
	}
	if !at.reached(after.Add(-aheadMost)) {
		return protocol.PutAnswer{Err: &protocol.BoundsError{Until: after, Now: at.now.UTC()}}
	}
	there := r.IsScheduled()
	p.Policy.NoTriggers = false // which a job that runs by its schedules has itself
	switch {
	case there && p.Revision == r.Revision: // perhaps an earlier put, whose answer was lost
		r.define(p.Policy, at)
		return protocol.PutAnswer{Status: protocol.PutUnchanged}
	case there && p.Absent, p.If != "" && (!there || p.If != r.Revision):
		return protocol.PutAnswer{Err: protocol.ErrRevision}
	}
	if owed := r.Keyed.Due; there && owed != 0 && owed <= p.After { // by the schedule before; it is still to be decided
		p.Due = owed
	} else {
		r.Watermark, r.Schedules = max(r.Watermark, p.After), nil
	}
	if r.Known = true; !there { // the put may be late, and another schedule have come and gone meanwhile
		r.Watermark, r.Paused = max(r.Watermark, at.milli(), r.proven(p.Policy)), nil
	}
	r.define(p.Policy, at)
	r.Revision, r.Revised = p.Revision, at.micro()
	r.reschedule(protocol.Schedule{Since: r.Revised, Text: p.Schedule})
	r.Scheduled, r.Withdrawn, r.Keyed = true, false, p.Stored
	r.Keyed.Start, r.Keyed.End = stored(p.Start.UTC()), stored(p.End.UTC())
	if there {
		return protocol.PutAnswer{Status: protocol.PutChanged}
	}
	return protocol.PutAnswer{Status: protocol.PutCreated}
}

// IsScheduled reports whether the record has a schedule that lies in the store.
func (r *Record) IsScheduled() bool { return r.Scheduled && !r.Withdrawn }

// Withdraw answers a valid withdrawal.
func (r *Record) Withdraw(w protocol.Withdraw, at *Moment) (found bool, err error) {
	switch err := inBounds(w.Until, at); {
	case err != nil:
		return false, err
	case !r.IsScheduled():
		return false, nil
	case w.If != "" && w.If != r.Revision:
		return false, protocol.ErrRevision
	}
	r.Withdrawn, r.Keyed.Due = true, 0
	return true, nil
}

// IsOver reports whether the record can be removed: its schedule was deleted, and no tick is open.
func (r *Record) IsOver() bool { return r.Withdrawn && len(r.Open) == 0 }

// Plan answers a valid plan.
func (r *Record) Plan(p protocol.Plan, at *Moment) error {
	if err := inBounds(p.Until, at); err != nil {
		return err
	}
	if r.IsScheduled() && r.Revision == p.Revision && r.Watermark == p.Watermark {
		r.Keyed.Due = p.Due
	}
	return nil
}

// follows reports whether ticks of the revision of a stored schedule may still be decided; the empty
// revision is that of any other record.
func (r *Record) follows(revision string) bool {
	return revision == "" || r.IsScheduled() && revision == r.Revision
}

// Look returns when a replica must look at the record: when a tick is due, when a lease runs out, or at
// once if a tick waits and nothing is in its way. The zero time means never.
//
//	open                           look
//	a tick that is held            when its lease runs out; what waits behind it waits until then
//	one that waits, or is free     at once
//	none, and a tick is to come    when that is due, unless the schedule is paused
//	none, and none is to come      when the record can be removed
func (r *Record) Look() time.Time {
	if !r.Scheduled {
		return time.Time{}
	}
	var look time.Time
	sooner := func(t time.Time) {
		if look.IsZero() || t.Before(look) {
			look = t
		}
	}
	held := false
	for _, e := range r.Open {
		if !e.waits() && !e.Released {
			held = true
			sooner(e.Ends)
		}
	}
	for _, e := range r.Open {
		if e.Released || e.waits() && !held {
			sooner(time.UnixMilli(e.Tick))
		}
	}
	switch {
	case r.Keyed.Due != 0 && r.Paused == nil:
		sooner(time.UnixMilli(r.Keyed.Due))
	case r.Keyed.Due != 0 || len(r.Open) > 0:
	case r.Withdrawn:
		sooner(time.UnixMilli(1))
	case len(r.Settled) > 0:
		sooner(r.Settled[len(r.Settled)-1].At.Add(keptAfter))
	default:
		sooner(r.Revised.Add(keptAfter))
	}
	return look
}

// keyed writes the schedule at the end of a value: nothing when there is none.
func (w *writer) keyed(r *Record) {
	if !r.Scheduled {
		return
	}
	k := r.Keyed
	w.flags(r.Withdrawn, !k.Start.IsZero(), !k.End.IsZero())
	w.tick(k.Due)
	w.text(k.By)
	w.text(k.Payload)
	if !k.Start.IsZero() {
		w.at(k.Start)
	}
	if !k.End.IsZero() {
		w.at(k.End)
	}
}

func (r *reader) keyed(of *Record) {
	if len(r.b) == 0 {
		return
	}
	var start, end bool
	of.Scheduled = true
	r.flags(&of.Withdrawn, &start, &end)
	of.Keyed.Due, of.Keyed.By, of.Keyed.Payload = r.tick(), r.text(), r.text()
	if start {
		of.Keyed.Start = r.at()
	}
	if end {
		of.Keyed.End = r.at()
	}
}
