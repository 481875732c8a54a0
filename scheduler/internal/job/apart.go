package job

import (
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"slices"
)

// Apart is what a replica of a large fleet knows of a job that it leaves to others. Only the first
// membership.Near replicas in the order of a job act about it, and report to one another what they
// did. The others are apart: they hear nothing and claim nothing. A replica that comes near a job,
// because others are gone or have no room, reads its record first.
//
// A few that are apart look at the record some time after each tick was due, and when the leases of
// the ticks that they saw open should have run out, in case that all who are near the job are gone at
// once.
type Apart struct {
	is       bool
	heard    int64 // when this replica was near the job, or read its record, last
	stranded int64 // a tick that nobody near the job has claimed, and that the others were asked about
}

const (
	// strandedAfter is how long after a tick was due those that are apart look what became of it. An
	// owner that works off a backlog has claimed it by then.
	strandedAfter = reports.LongestBacklog + 1000 // ms
	// strandedAsk is how long those that may know more than the record are waited for then. Those
	// that are gone do not answer.
	strandedAsk = 500 // ms
	// refreshEvery is how often at most the record is read because somebody wants to know how the job
	// is.
	refreshEvery = 30_000 // ms
)

// apartStep returns the next step of a replica that is apart, or that comes near the job. It returns
// false if this replica acts as the others near the job do.
func (v *View) apartStep(now int64) (s Step, apart bool) {
	switch {
	case v.isFar(now):
		v.part(now)
		return v.lookStep(now), true
	case v.Apart.is:
		return Step{State: Confirming, At: 1}, true
	case v.Order.place.Far && v.isStranded() && v.Apart.stranded != v.Cursor.Next:
		// The store may have lost what others know.
		v.Apart.stranded = v.Cursor.Next
		v.ask(v.Cursor.Watermark, now)
		v.Doubt.shorten(now + strandedAsk)
		return v.Doubt.step(now, ms(v.Answering))
	default:
		return s, false
	}
}

// isFar reports whether so many other replicas come before this one that it leaves the job to them.
// Those that have no room for a tick do not count, and nobody does while a tick is stranded or
// abandoned.
func (v *View) isFar(now int64) bool {
	p := v.Order.Place()
	if !p.Far {
		return false
	}
	if v.Order.passed.tick > v.Cursor.Watermark {
		p = v.Order.placeFor(v.Order.passed.tick)
	}
	return p.Far && !v.isStranded() && !v.isAbandoned(now)
}

// isAbandoned reports whether the record, as it was just read, shows an open tick that those near the
// job should have taken over by now.
func (v *View) isAbandoned(now int64) bool {
	tick, _, _ := v.Open.first(now, v.Room.IsShort())
	return !v.Apart.is && tick != 0
}

// isStranded reports whether the record, as it was just read, shows a tick that those near the job
// should have claimed long ago.
func (v *View) isStranded() bool {
	next := v.Cursor.Next
	return !v.Apart.is && next != 0 && next != v.Order.passed.tick && len(v.Open) == 0 && v.strandsAt(next) <= v.Apart.heard
}

// part leaves the job to those near it.
func (v *View) part(now int64) {
	if v.Apart.is {
		return
	}
	v.Apart.is, v.Apart.heard = true, max(v.Apart.heard, now)
	for _, l := range v.Open {
		if v.InTurn() {
			v.Rest.blocked = max(v.Rest.blocked, l.at)
		}
	}
	if v.Order.lookAfter() < 0 {
		v.Open = nil
	}
}

// lookStep returns when a replica that is apart looks what became of the next tick, if it does.
func (v *View) lookStep(now int64) Step {
	wait := v.Order.lookAfter()
	if wait < 0 {
		return Step{State: Parted}
	}
	_, at, watch := v.Open.first(now, v.Room.IsShort())
	if next := v.after(v.Apart.heard); next != 0 && (at == 0 || v.strandsAt(next)+wait < at) {
		at = v.strandsAt(next) + wait
	}
	if at != 0 && at <= now {
		return Step{State: Confirming, At: at, Watch: watch}
	}
	return Step{State: Parted, At: at, Watch: watch}
}

// lookAfter returns how long this replica, which is beyond those near the job, leaves a stranded tick
// to others that look, in ms, or -1 if it does not look: only those 0, 3, 15, 63 and so on ranks beyond
// do. So there are hardly more of them in a larger fleet.
func (o *Order) lookAfter() int64 {
	wait, beyond := int64(0), o.place.Rank-membership.Near
	for n := int32(1); n <= beyond+1; n *= 4 {
		if n == beyond+1 {
			return wait
		}
		wait += 2 * strandedAsk
	}
	return -1
}

// Upcoming returns the next tick that is not decided, as far as is known. Those near a job decide
// the ticks that are due.
func (v *View) Upcoming(now int64) int64 {
	if v.Apart.is {
		return v.after(now)
	}
	return v.Next()
}

// Refresh has the record read soon if this replica has not heard for a while what became of the
// job's ticks, and reports whether it does.
func (v *View) Refresh(now int64) bool {
	next := v.Next()
	if !v.Apart.is || !v.Record.IsRead() || next == 0 || v.Due(next) > now || now-v.Apart.heard < refreshEvery {
		return false
	}
	v.Record.Verify()
	return true
}

// asHeard makes of a what this replica knew when it heard of the job last. While the store is away
// nobody can claim what comes due.
func (v *View) asHeard(a *awaited) {
	away := v.Away()
	if away == 0 {
		a.now = min(a.now, v.Apart.heard)
		return
	}
	a.due = 0
	if next := v.after(away); next != 0 {
		a.due = v.Due(next)
	}
}

// nearIn returns who acts about the job in a ranking, besides this replica: nil for all.
func (o *Order) nearIn(r *membership.Ranking, except ...string) []string {
	return r.Near(o.definition.Job.Name(), o.definition.Job.Revision(), o.definition.Spec.Weight, except...)
}

// listeners returns who is to hear what becomes of a tick: nil for all.
func (o *Order) listeners(tick int64) []string {
	if o.Place(); o.near == nil || o.passed.tick != tick || len(o.passed.by) == 0 {
		return o.near
	}
	list := slices.Clone(o.near)
	for _, id := range o.nearIn(o.ranking, o.passed.by...) {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}
