package record

import (
	"slices"

	"github.com/solotick/solotick/internal/protocol"
)

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
