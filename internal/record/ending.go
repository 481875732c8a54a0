package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Renew answers the renewal of a valid grant.
func (r *Record) Renew(g protocol.Grant, at *Moment) error {
	e := r.current(g)
	if e == nil || e.Released {
		return protocol.ErrFenced
	}
	if by, ok := r.cancelled(g.Tick); ok {
		return &protocol.CancelledError{By: by}
	}
	if r.Stop.has(*e) {
		return protocol.ErrReplaced
	}
	e = r.toEnd(*e)
	e.Ends, e.TTL = at.now.Add(g.TTL), g.TTL
	e.Attempt = max(e.Attempt, g.Attempt)
	return nil
}

// End settles the tick of a valid grant with a valid outcome, or releases it if the outcome is "".
// wake reports whether someone may be waiting for that.
func (r *Record) End(g protocol.Grant, outcome protocol.Outcome, at *Moment) (wake bool, err error) {
	lock := g.Tick == 0
	if r.find(g.Tick) < 0 && (lock && r.settledBy(g, "") || outcome != "" && r.settledBy(g, outcome)) {
		return false, nil
	}
	e := r.current(g)
	if e == nil {
		return false, protocol.ErrFenced
	}
	attempt := max(e.Attempt, g.Attempt)
	if outcome == "" && !lock {
		e = r.toEnd(*e)
		e.Ends, e.Released, e.Attempt = time.Time{}, true, attempt
	} else {
		r.remove(r.find(g.Tick))
		r.remember(protocol.Settled{
			Tick: g.Tick, Token: g.Token, Attempt: attempt, Outcome: cmp.Or(outcome, "released"),
			Holder: g.Holder, Note: protocol.Cut(g.Note, protocol.MaxNote),
		}, "", at)
	}
	wake = r.Wait || outcome == "" || lock || r.waiting() != nil
	r.Wait = false
	return wake, nil
}

// forgotten reports whether g, which is not open, may be missing only because the record was lost
// or went back in time. other reports whether another grant of the tick is open.
func (r *Record) forgotten(g protocol.Grant, other bool) bool {
	if other || g.Tick == 0 {
		return g.Token > r.Token && !r.settledBy(g, "")
	}
	if r.remembers(g.Tick) || r.excepted(g.Tick) {
		return false
	}
	newest := max(r.Watermark, r.triggered())
	if !r.Known {
		newest = r.Gap.To
	}
	return g.Tick > newest || r.Gap.has(g.Tick)
}

// current finds the open entry of g, and writes it back when it was forgotten; nil when g is not
// current.
func (r *Record) current(g protocol.Grant) *Entry {
	i := r.find(g.Tick)
	if i >= 0 && r.Open[i].Token == g.Token {
		return &r.Open[i]
	}
	if !r.forgotten(g, i >= 0) || !r.Scheduled && protocol.ValidKeyed(g.Name) { // its schedule is gone
		return nil
	}
	r.Token = max(r.Token, g.Token)
	r.wroteBack(g.Tick)
	if i >= 0 {
		r.remove(i)
	}
	g.Note = ""
	r.Open = append(r.Open, Entry{Grant: g})
	return &r.Open[len(r.Open)-1]
}

// wroteBack updates the record when a holder writes back a tick that the record has lost: all earlier
// ticks were decided. If the tick was triggered and the job has jitter, earlier ticks may be due
// later, and stay undecided.
func (r *Record) wroteBack(tick int64) {
	switch {
	case !r.Known:
		r.Gap.To = max(r.Gap.To, tick)
	case r.Policy.Jitter > 0 && isTriggered(tick):
		r.widen(tick)
		r.noteTriggered(tick)
	default:
		r.learn(tick)
	}
}

// proven is up to which tick the holders that wrote themselves back to a record that was not known
// prove that all were decided.
func (r *Record) proven(p protocol.Policy) (newest int64) {
	if p.Jitter == 0 || !isTriggered(r.Gap.To) {
		return r.Gap.To
	}
	r.noteTriggered(r.Gap.To)
	for _, e := range r.Open {
		if !isTriggered(e.Tick) {
			newest = max(newest, e.Tick)
		}
	}
	for _, s := range r.Settled {
		if !isTriggered(s.Tick) {
			newest = max(newest, s.Tick)
		}
	}
	return newest
}

// isTriggered reports whether a tick of a job was triggered: schedules tick at whole seconds.
func isTriggered(tick int64) bool { return tick%1000 != 0 }

func (r *Record) noteTriggered(tick int64) {
	if tick > r.triggered() {
		r.Triggered = append(r.Triggered, Triggered{Tick: tick})
	}
}

// toEnd moves an open entry behind the others: the order is that of the last news.
func (r *Record) toEnd(e Entry) *Entry {
	r.remove(r.find(e.Tick))
	r.Open = append(r.Open, e)
	return &r.Open[len(r.Open)-1]
}

// Cancel is an open tick that was cancelled while it was held.
type Cancel struct {
	Tick int64
	By   string
}

// Cancel answers a valid cancel. wake reports whether somebody has to be notified of it.
func (r *Record) Cancel(c protocol.Cancel, at *Moment) (a protocol.Cancelled, wake bool, err error) {
	if !r.Known {
		return a, false, protocol.ErrUnknown
	}
	i := r.find(c.Tick)
	if i < 0 {
		return r.cancelledBefore(c.Tick), false, nil
	}
	by, before := r.cancelled(c.Tick)
	if !before {
		by = c.By
	}
	e := r.Open[i]
	if e.waits() || !at.holds(e.Token, e.Ends) {
		r.remove(i)
		r.over(e, protocol.OutcomeCancelled, protocol.NoteCancelled(by), at)
		return protocol.Cancelled{Status: protocol.CancelSettled, By: by}, true, nil
	}
	if !before {
		r.Cancels = append(r.Cancels, Cancel{c.Tick, by})
	}
	return protocol.Cancelled{Status: protocol.CancelPending, By: by, Holder: e.Holder, Remaining: e.Ends.Sub(at.now)}, true, nil
}

// cancelledBefore answers a cancel of a tick that is not open.
func (r *Record) cancelledBefore(tick int64) protocol.Cancelled {
	for _, s := range r.recent() {
		if s.Tick == tick && s.Outcome == protocol.OutcomeCancelled {
			by, _ := protocol.CancelledBy(s.Note)
			return protocol.Cancelled{Status: protocol.CancelSettled, By: by}
		}
	}
	return protocol.Cancelled{Status: protocol.CancelNotOpen}
}

// cancelled returns who cancelled an open tick.
func (r *Record) cancelled(tick int64) (by string, ok bool) {
	for _, c := range r.Cancels {
		if c.Tick == tick {
			return c.By, true
		}
	}
	return "", false
}

// ended settles, on the store's own account, leases that ran out and have to end: cancelled or
// replaced ones.
func (r *Record) ended(e Entry, at *Moment) (settled protocol.Settled, ok bool) {
	if by, ok := r.cancelled(e.Tick); ok {
		return r.over(e, protocol.OutcomeCancelled, protocol.NoteCancelled(by), at), true
	}
	if r.Stop.has(e) {
		return r.over(e, protocol.OutcomeReplaced, protocol.NoteExpired, at), true
	}
	return settled, false
}

// forgetCancel drops the cancel of a tick that is settled.
func (r *Record) forgetCancel(tick int64) {
	r.Cancels = slices.DeleteFunc(r.Cancels, func(c Cancel) bool { return c.Tick == tick })
}
