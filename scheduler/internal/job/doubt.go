package job

import (
	"slices"

	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
)

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
