package job

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"slices"

	"github.com/solotick/solotick/internal/protocol"
)

// Hints are reports of other replicas that no answer of the store has confirmed. They may be wrong,
// so they tell when to look at the record, and never what the record says.
type Hints struct {
	watermark int64 // above the confirmed one; 0 for none
	next      int64 // the first tick after it; 0 for none, unknownTick before anybody has asked
	since     int64 // when the first was received that is not confirmed
	doubted   int64 // the watermark which the record was found to be behind
}

// unknownTick is a tick that nobody has looked up yet.
const unknownTick = -1

const (
	// confirmEvery is how often the first backup confirms its reports, in ms. So two replicas know
	// the watermark, and a wrong report is found.
	confirmEvery = 30_000
	// aheadBy is how far a reported tick may be in the future, in ms, because fleet time is an
	// estimate.
	aheadBy = 1000
	// reportedLate is how much the end of a reported lease may be too late, in ms: it is rounded
	// up, and counted from when the sender was answered.
	reportedLate = reports.UntilStep + 200
	// maxReported bounds how many open ticks a replica remembers from reports.
	maxReported = 256
)

// ahead reports whether others have reported a later watermark than the confirmed one.
func (h *Hints) ahead(confirmed int64) bool { return h.watermark > confirmed }

// report applies a watermark that was reported.
func (h *Hints) report(watermark, confirmed, now int64) {
	if watermark <= max(confirmed, h.watermark) {
		return
	}
	if !h.ahead(confirmed) {
		*h = Hints{since: now}
	}
	h.watermark, h.next = watermark, unknownTick
}

// after returns the first tick after the reported watermark, or 0 if there is none.
func (h *Hints) after(tickAfter func(int64) int64) int64 {
	if h.next == unknownTick {
		h.next = tickAfter(h.watermark)
	}
	return h.next
}

// read compares the reports with the watermark of a record that was read, and reports whether the
// others must be asked. If the watermark is behind, either the report was wrong or the store has
// lost a write. A replica that knows the write from the store writes it back; if none has done so
// after a while, the record is right. With delivery at most once the read itself has written the
// reported watermark back: see [View.Known].
func (h *Hints) read(watermark, confirmed int64) (ask bool) {
	if h.ahead(confirmed) && h.watermark > watermark && h.doubted == 0 {
		h.doubted = h.watermark
		return true
	}
	*h = Hints{}
	return false
}

// IsAheadOf reports whether others have reported a later watermark than this one.
func (h *Hints) IsAheadOf(watermark int64) bool { return watermark < h.watermark }

// Learn applies a report of another replica, and returns when the replica must act at the latest, or
// 0 if that has not changed. Most reports are about ticks that others claim first, and come before
// this replica would look at the tick. Then it looks as planned, and finds the report.
func (v *View) Learn(r reports.Report, from string, now int64) (soon int64) {
	if r.Tick > now+aheadBy {
		return 0
	}
	until := min(r.Until, now+ms(v.TTL)) // whatever it says: the record is read in time for a takeover
	switch r.Kind {
	case reports.Granted:
		soon = v.expect(Look{tick: r.Tick, at: until + v.Order.Takeover(from)}, r.Until, now)
	case reports.Queued:
		soon = v.expect(Look{tick: r.Tick, at: until + v.Order.Takeover(), kind: queued}, r.Until, now)
	case reports.Settled:
		v.Doubt.reportSettled(r.Tick)
		if !v.Pending.Claims(r.Tick) {
			v.Open.Drop(r.Tick)
		}
	case reports.Busy:
		if r.Tick >= v.Next() { // the grants before it may be reported later
			v.Rest.blocked = max(v.Rest.blocked, until)
		}
		if r.Tick == v.upcoming() && v.Order.Place().Rank > 0 {
			v.Order.from = max(v.Order.from, until)
		}
	case reports.Full:
		soon = v.passedBy(r.Tick, from, now)
	case reports.Decided, reports.Behind, reports.Answered, reports.Leaving:
	}
	if r.Watermark {
		v.Hints.report(r.Tick, v.Cursor.Watermark, now)
	}
	if v.Order.place.Rank <= 1 || v.Room.IsShort() { // those of rank 0 and 1 confirm reports
		return 1
	}
	return soon
}

// expect plans a look at a tick that was reported as open, with a lease until then, and returns when
// that look is.
//
// The lease may have been granted before this replica was woken, and have been released since,
// because the report may arrive after the notification. So the first two in the order look at once
// all the same.
func (v *View) expect(l Look, until, now int64) int64 {
	if v.Running[l.tick] != nil || len(v.Open) >= maxReported || v.Pending.Claims(l.tick) {
		return l.at
	}
	granted := until - v.TTL.Milliseconds() - reportedLate
	if granted <= v.Order.woke && v.Order.Place().Rank <= 1 {
		if known := v.Open.of(l.tick); known != nil && known.released {
			return known.at
		}
		l.at, l.released = now+v.Order.Backup(), true
	}
	v.Open.Set(l)
	return l.at
}

// passedBy records that a replica has no room for a tick, and returns when to claim the tick, or 0
// if that has not changed.
func (v *View) passedBy(tick int64, replica string, now int64) int64 {
	if !v.Order.passedBy(tick, replica) {
		return 0
	}
	switch l := v.Open.of(tick); {
	case l != nil:
		l.at = min(l.at, now+v.Order.placeFor(tick).Takeover())
		return l.at
	case v.Apart.is:
		return 1 // it may have come near the job
	case tick == v.upcoming():
		return max(v.Order.claimAt(tick), 1)
	}
	return 0
}

// Doubt is what a replica knows of a record that has lost something, or may have.
type Doubt struct {
	inquiries map[reports.InquiryID]int64 // those that the job is in, and until when they last
	settled   [4]int64                    // ticks that others have reported as settled, of late
	own       int64                       // the newest tick that this replica was granted, or settled without a run
	unread    bool                        // some were reported as settled, and the record was not read since
	asked     bool                        // one inquiry is this replica's: the record is read when they are over
	missing   bool                        // a claim found no record, or one older than this replica has seen
	proven    bool                        // the record has lost something: reports count more than the record
}

// ends returns when the doubt ends at the latest, or 0 if the job is not in doubt. An inquiry lasts
// for longest at most.
func (d *Doubt) ends(now, longest int64) (ends int64) {
	for id, until := range d.inquiries {
		if until <= now || until > now+longest+aheadBy { // it is over, or fleet time has stepped back
			delete(d.inquiries, id)
			continue
		}
		ends = max(ends, until)
	}
	return ends
}

// step returns the next step while nothing may be claimed, because other replicas know, or knew
// until a moment ago, more of the job than its record: to wait, and at the end to have the record
// read.
func (d *Doubt) step(now, longest int64) (s Step, doubts bool) {
	switch ends := d.ends(now, longest); {
	case ends != 0:
		return Step{State: Doubting, At: ends}, true
	case d.asked:
		return Step{State: Confirming, At: 1}, true
	default:
		return s, false
	}
}

// enter puts the job into an inquiry that lasts until then.
func (d *Doubt) enter(id reports.InquiryID, until int64) {
	if d.inquiries == nil {
		d.inquiries = map[reports.InquiryID]int64{}
	}
	if _, known := d.inquiries[id]; !known {
		d.inquiries[id] = until
	}
}

// shorten ends the inquiries at that time at the latest.
func (d *Doubt) shorten(until int64) {
	for id, ends := range d.inquiries {
		d.inquiries[id] = min(until, ends)
	}
}

// Answered ends the doubt of an inquiry that all have answered.
func (d *Doubt) Answered(id reports.InquiryID) { delete(d.inquiries, id) }

// decided notes a tick that this replica was granted, or settled without a run.
func (d *Doubt) decided(tick int64) { d.own = max(d.own, tick) }

// reportSettled remembers that others have reported a tick as settled.
func (d *Doubt) reportSettled(tick int64) {
	if !slices.Contains(d.settled[:], tick) {
		copy(d.settled[1:], d.settled[:])
		d.settled[0], d.unread = tick, true
	}
}

// suspects returns the ticks that are open though they were reported as settled, each once.
func (d *Doubt) suspects(open []protocol.Open) (list []int64) {
	for _, o := range open {
		if i := slices.Index(d.settled[:], o.Tick); o.Tick != 0 && i >= 0 {
			d.settled[i] = 0
			list = append(list, o.Tick)
		}
	}
	return list
}

// read checks a record that was read, and reports whether it has lost something although the store
// remembers as far back as before.
func (d *Doubt) read(r protocol.Record, remembers bool) (lost bool) {
	lost = remembers && (d.missing || r.Made || r.Restored)
	d.missing, d.unread = false, false
	d.proven = lost || d.proven && d.asked
	return lost
}
