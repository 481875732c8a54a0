package record

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Claim answers a valid claim. wake reports whether a holder has to be notified to make room.
func (r *Record) Claim(c protocol.Claim, at *Moment) (a protocol.Answer, wake bool) {
	if late(c.Until, at) {
		return protocol.Answer{Status: protocol.OutOfBounds, Watermark: r.Watermark, Now: at.now.UTC()}, false
	}
	r.restart(at)
	if c.Tick > 0 && (!r.Known || !r.follows(c.Revision) && !c.OnlyOpen && r.find(c.Tick) < 0) {
		return protocol.Answer{Status: protocol.Unknown, Watermark: c.Known, Now: at.now.UTC()}, false
	}
	if c.Tick > 0 {
		r.learn(c.Known)
		r.prune()
	}
	stop, before := r.Stop, r.Watermark
	if i := r.find(c.Tick); i >= 0 {
		a = r.claimOpen(c, i, at)
	} else {
		a = r.claimNew(c, at)
	}
	if r.Watermark > before && r.Watermark == c.Tick {
		r.Keyed.Due = c.NextDue
	}
	a.Watermark, a.Now = r.Watermark, at.now.UTC()
	for _, e := range r.Open {
		if e.Tick != c.Tick {
			a.Open = append(a.Open, e.view(at))
		}
	}
	return a, r.Stop != stop
}

// claimOpen answers the claim of a tick that is open.
func (r *Record) claimOpen(c protocol.Claim, i int, at *Moment) protocol.Answer {
	e := r.Open[i]
	if e.waits() {
		return r.inOrder(c, at)
	}
	if at.holds(e.Token, e.Ends) {
		if e.Holder == c.Holder && e.Request == c.Request { // its answer was lost
			r.Open[i].Ends = at.now.Add(e.TTL)
			return granted(r.Open[i], at)
		}
		return protocol.Answer{Status: protocol.Held, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Remaining: e.Ends.Sub(at.now)}
	}
	if c.Repeated && !c.NoRoom && e.Holder == c.Holder && e.Request == c.Request { // nobody has begun
		r.remove(i)
		return r.grant(c, e.Attempt, e.Takeovers, e.Grant, at)
	}
	if c.NoRoom || !mayEnd(c, e, at) {
		return protocol.Answer{Status: protocol.Held, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder}
	}
	r.remove(i)
	former := &protocol.Former{Holder: e.Holder, Token: e.Token, Attempt: e.Attempt}
	if !e.Released {
		former.Ended = e.Ends.UTC().Truncate(time.Microsecond)
	}
	if c.Tick == 0 {
		a := r.grant(c, 1, c.Takeovers, protocol.Grant{}, at)
		a.Former = former
		return a
	}
	takeovers := e.Takeovers
	if settled, ok := r.ended(e, at); ok {
		return protocol.Answer{Status: protocol.Decided, Token: e.Token, Attempt: e.Attempt, Settled: []protocol.Settled{settled}}
	}
	if !e.Released {
		if takeovers == 0 {
			r.over(e, protocol.OutcomeLost, protocol.NoteExpired, at)
			return protocol.Answer{Status: protocol.Lost, Token: e.Token, Attempt: e.Attempt}
		}
		takeovers--
		if c.TakeoverWithin > 0 && at.passed(e.Ends.Add(c.TakeoverWithin)) {
			settled := r.over(e, protocol.OutcomeMissed, protocol.NoteTooOld, at)
			return protocol.Answer{Status: protocol.Decided, Token: e.Token, Attempt: e.Attempt, Settled: []protocol.Settled{settled}}
		}
	}
	a := r.grant(c, e.Attempt+1, takeovers, e.Grant, at)
	a.Former = former
	return a
}

// mayEnd reports whether a claim may treat an entry that ran out, or was released, as ended: see
// ContactSince of [protocol.Claim].
func mayEnd(c protocol.Claim, e Entry, at *Moment) bool {
	switch {
	case e.Released:
		return true
	case late(c.TakeoverUntil, at):
		return false
	default:
		return !c.ContactSince.After(e.Ends.Add(-e.TTL)) || at.reached(c.ContactSince.Add(protocol.ReturnGrace(e.TTL)))
	}
}

// inOrder answers the claim of a tick that waits.
func (r *Record) inOrder(c protocol.Claim, at *Moment) protocol.Answer {
	settled := r.sweep(c, at)
	var a protocol.Answer
	if first := r.longest(); first != nil && c.Overlap != protocol.OverlapAllow {
		if c.Overlap == protocol.OverlapReplace {
			r.replace(c.Tick)
		}
		a = r.behind(protocol.Queued, *first, at)
		r.toEnd(r.Open[r.find(c.Tick)])
	} else if c.NoRoom {
		a = protocol.Answer{Status: protocol.Queued}
	} else {
		i := r.find(c.Tick)
		waited := r.Open[i].Grant
		r.remove(i)
		a = r.grant(c, 1, c.Takeovers, waited, at)
	}
	a.Settled = settled
	return a
}

// claimNew answers the claim of a tick that is not open.
func (r *Record) claimNew(c protocol.Claim, at *Moment) protocol.Answer {
	n := c.Tick
	switch {
	case n == 0 && !c.OnlyOpen:
		return r.grant(c, 1, c.Takeovers, protocol.Grant{}, at)
	case n > 0 && n <= r.Watermark:
		switch s := r.skipped(n, c.Request); {
		case s == nil:
		case s.Note == protocol.NotePaused:
			return protocol.Answer{Status: protocol.Paused}
		default:
			return protocol.Answer{Status: protocol.Skipped}
		}
		return protocol.Answer{Status: protocol.Decided}
	case c.OnlyOpen:
		return protocol.Answer{Status: protocol.Decided}
	case !at.reached(c.NotBefore):
		return protocol.Answer{Status: protocol.Early, Remaining: c.NotBefore.Sub(at.now)}
	case r.excepted(n):
		r.Watermark = n
		r.prune()
		return protocol.Answer{Status: protocol.Decided}
	case !c.NotAfter.IsZero() && at.passed(c.NotAfter):
		return protocol.Answer{Status: protocol.Late}
	case r.Paused != nil || c.Paused || !r.Resumed.IsZero() && !c.NotBefore.After(r.Resumed):
		return r.skip(c, protocol.Paused, protocol.NotePaused, at)
	}
	settled := r.sweep(c, at)
	var a protocol.Answer
	if len(r.Open) >= protocol.MaxOpen {
		a = r.skip(c, protocol.Skipped, protocol.NoteOpen, at)
	} else {
		a = r.overlap(c, &settled, at)
	}
	a.Settled = settled
	return a
}

// overlap answers the claim of a new tick by what else is open.
func (r *Record) overlap(c protocol.Claim, settled *[]protocol.Settled, at *Moment) protocol.Answer {
	first := r.longest()
	other := first
	if other == nil {
		other = r.waiting()
	}
	switch {
	case c.NoRoom && (first == nil || c.Overlap == protocol.OverlapAllow):
		return protocol.Answer{Status: protocol.Busy}
	case other == nil || c.Overlap == protocol.OverlapAllow:
	case c.Overlap == protocol.OverlapSkip:
		return r.skip(c, protocol.Skipped, protocol.NoteOverlap, at)
	case c.Overlap == protocol.OverlapWait:
		return r.behind(protocol.Busy, *other, at)
	default:
		*settled = append(*settled, r.makeRoom(c, at)...)
		if first = r.longest(); first == nil { // it may have moved
			break
		}
		if c.Overlap == protocol.OverlapReplace {
			r.replace(c.Tick)
		}
		r.Watermark = c.Tick
		r.Open = append(r.Open, Entry{Grant: protocol.Grant{
			Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request, Takeovers: c.Takeovers, Payload: r.Keyed.Payload,
		}})
		return r.behind(protocol.Queued, *first, at)
	}
	r.Watermark = c.Tick
	return r.grant(c, 1, c.Takeovers, protocol.Grant{Payload: r.Keyed.Payload}, at)
}

func (r *Record) skip(c protocol.Claim, status protocol.Status, note string, at *Moment) protocol.Answer {
	r.Watermark = c.Tick
	r.remember(protocol.Settled{Tick: c.Tick, Outcome: protocol.OutcomeSkipped, Holder: c.Holder, Note: note}, c.Request, at)
	return protocol.Answer{Status: status}
}

// behind makes the answer to a claim that has to wait for e.
func (r *Record) behind(status protocol.Status, e Entry, at *Moment) protocol.Answer {
	r.Wait = true
	return protocol.Answer{Status: status, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Remaining: max(0, e.Ends.Sub(at.now))}
}

// grant grants a claim of a tick that was opened as before says, which is the zero grant of one that
// was not open.
func (r *Record) grant(c protocol.Claim, attempt, takeovers int, before protocol.Grant, at *Moment) protocol.Answer {
	r.Token = at.token(r.Token + 1)
	e := Entry{
		Grant: protocol.Grant{
			Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request,
			Token: r.Token, Attempt: attempt, Takeovers: takeovers, TTL: c.TTL, Payload: before.Payload, Again: before.Again,
		},
		Ends: at.now.Add(c.TTL),
	}
	r.Open = append(r.Open, e)
	return granted(e, at)
}

func granted(e Entry, at *Moment) protocol.Answer {
	return protocol.Answer{
		Status: protocol.Granted, Token: e.Token, Attempt: e.Attempt, Takeovers: e.Takeovers, Remaining: e.Ends.Sub(at.now), Payload: e.Payload, Again: e.Again,
	}
}

// sweep settles ticks that are over. They are those that ran out and may
// not be granted again, and free ones that have to make room.
func (r *Record) sweep(c protocol.Claim, at *Moment) (settled []protocol.Settled) {
	r.Open = slices.DeleteFunc(r.Open, func(e Entry) bool {
		if e.Tick == 0 || e.waits() || at.holds(e.Token, e.Ends) || !mayEnd(c, e, at) {
			return false
		}
		if s, ok := r.ended(e, at); ok {
			settled = append(settled, s)
			return true
		}
		switch {
		case c.Overlap == protocol.OverlapReplace && e.Tick < c.Tick:
			settled = append(settled, r.over(e, protocol.OutcomeReplaced, protocol.NoteExpired, at))
		case e.Takeovers == 0 && !e.Released:
			settled = append(settled, r.over(e, protocol.OutcomeLost, protocol.NoteExpired, at))
		default:
			return false
		}
		return true
	})
	return settled
}

// replace has the granted ticks before n make room. Those that are granted later need not:
// a tick before n may come after it, when it is caught up.
func (r *Record) replace(n int64) {
	if slices.ContainsFunc(r.Open, func(e Entry) bool {
		return 0 < e.Tick && e.Tick < n && !e.waits() && !r.Stop.has(e)
	}) {
		r.Stop = Stop{Before: max(r.Stop.Before, n), Token: r.Token}
	}
}

// makeRoom settles what waits, to let a newer tick take its place. In a queue none can take that of
// a tick that was triggered with a payload.
func (r *Record) makeRoom(c protocol.Claim, at *Moment) (settled []protocol.Settled) {
	r.Open = slices.DeleteFunc(r.Open, func(e Entry) bool {
		if !e.waits() || (e.Payload != "" || e.Again != 0) && isTriggered(e.Tick) && c.Overlap == protocol.OverlapQueue {
			return false
		}
		outcome := protocol.OutcomeSkipped
		if c.Overlap == protocol.OverlapReplace {
			outcome = protocol.OutcomeReplaced
		}
		settled = append(settled, r.over(e, outcome, protocol.NoteNewer, at))
		return true
	})
	return settled
}

// longest returns the tick that is granted for longest; of several, the oldest.
func (r *Record) longest() (first *Entry) {
	for i := range r.Open {
		e := &r.Open[i]
		if e.Tick > 0 && !e.waits() &&
			(first == nil || e.Ends.After(first.Ends) || e.Ends.Equal(first.Ends) && e.Tick < first.Tick) {
			first = e
		}
	}
	return first
}

// waiting returns the oldest tick that waits.
func (r *Record) waiting() (first *Entry) {
	for i := range r.Open {
		if e := &r.Open[i]; e.waits() && (first == nil || e.Tick < first.Tick) {
			first = e
		}
	}
	return first
}
