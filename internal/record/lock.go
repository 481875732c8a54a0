package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Lock is the lock of a name: its holds, and the waiters in its queue. The zero value is held by
// nobody.
type Lock struct {
	Born    int64  // when the store began to remember it, in Unix us; every token that it has granted since is at least that
	Token   int64  // of the last grant
	Holds   []Hold // oldest grant first
	Waiters map[string]Waiter
	Queue   []Place // of the waiters, in order
	Arrived int64   // how many have come to wait
	Gone    []Gone  // the last few whose end a late request of theirs may ask about

	Withdrawn []Withdrawn // oldest first
	Owed      time.Time   // until then a holder may ask that lost its hold before the end of its lease

	now time.Time // of the last rule that was applied
}

// Hold is a grant that has not ended, though its lease may have run out: it keeps its permits until
// somebody needs them.
type Hold struct {
	protocol.LockGrant
	Since, Ends time.Time
}

func id(holder, request string) string { return holder + " " + request }

// Claim answers a valid claim of the lock. woken are the requests to notify.
func (l *Lock) Claim(c protocol.LockClaim, at *Moment) (a protocol.LockAnswer, woken []string) {
	l.now = at.now
	if l.Born == 0 {
		l.Born = max(at.now.UnixMicro(), c.Known+1)
	}
	me := id(c.Holder, c.Request)
	if until, ok := l.withdrawn(me, at); ok {
		return protocol.LockAnswer{Status: protocol.Held, Remaining: until.Sub(at.now), Now: at.now.UTC()}, nil
	}
	if i := l.find(me); i >= 0 {
		if h := l.Holds[i]; at.holds(h.Token, h.Ends) {
			return protocol.LockAnswer{Status: protocol.Granted, Token: h.Token, Remaining: h.Ends.Sub(at.now), Now: at.now.UTC()}, nil
		}
		a.Lost = append(a.Lost, l.lose(i, at))
	}
	before := len(l.Queue)
	ticket, waits := l.Waiters[me]
	waits = waits && !at.reached(ticket.Ends)
	place := l.place(c, me)
	if waits {
		place = ticket.Place
	}
	if c.Order == protocol.OrderAny {
		place.Arrival = 0 // it passes those of its rank
	}
	first := l.first(at)
	dropped := len(l.Queue) < before
	ahead, blocked := 0, false
	if first != nil && !first.before(place) {
		first = nil
	}
	if first != nil {
		ahead, blocked = l.ahead(place, at)
	}
	if !l.fits(ahead+c.Permits, c.Limit) {
		a.Lost = append(a.Lost, l.sweep(at)...)
	}
	slices.SortFunc(a.Lost, func(a, b protocol.LostHold) int { return cmp.Compare(a.Token, b.Token) })

	if !blocked && l.fits(ahead+c.Permits, c.Limit) {
		l.Token = at.token(max(l.Token+1, l.Born, c.Known+1))
		a.Status, a.Token, a.Remaining, a.Now = protocol.Granted, l.Token, c.TTL, at.now.UTC()
		l.Holds = append(l.Holds, Hold{LockGrant: c.Grant(a), Since: at.now, Ends: at.now.Add(c.TTL)})
		l.leave(me)
		l.forgetWithdrawn(at)
		// Those at the head of the queue know; permits that counted as held until now may be enough for
		// others.
		if len(a.Lost) > 0 || dropped || waits && ticket.Permits > c.Permits {
			woken = l.nextRequests(at)
		}
		if c.Notify {
			woken = notify(woken, c.Request)
		}
		return a, woken
	}

	a.Status, a.Now = protocol.Held, at.now.UTC()
	var ends time.Time
	if first != nil {
		a.Holder, ends = first.Holder, first.Ends
	}
	if h := l.next(at); h != nil {
		a.Token, a.Holder = h.Token, h.Holder
		if ends.IsZero() || h.Ends.Before(ends) {
			ends = h.Ends
		}
	}
	a.Remaining = ends.Sub(at.now)
	if c.WaiterTTL > 0 {
		a.Status = protocol.Queued
		l.enter(c, me, waits, at)
	}
	if len(a.Lost) > 0 || dropped {
		woken = l.nextRequests(at)
	}
	return a, woken
}

// View shows the lock of that name.
func (l *Lock) View(name string, at *Moment) protocol.Lock {
	v := protocol.Lock{Name: name}
	for _, h := range l.Holds {
		v.Holds = append(v.Holds, protocol.Hold{
			Holder: h.Holder, Request: h.Request, Token: h.Token, Permits: h.Permits,
			Since: h.Since.UTC().Truncate(time.Microsecond), Remaining: max(0, h.Ends.Sub(at.now)),
		})
	}
	for _, p := range l.Queue {
		t := l.Waiters[p.ID]
		if at.reached(t.Ends) {
			continue
		}
		v.Waiters++
		if len(v.Queue) < protocol.MaxQueue {
			v.Queue = append(v.Queue, protocol.Waiter{
				Holder: t.Holder, Request: t.Request, Permits: t.Permits,
				Since: t.Since.UTC().Truncate(time.Microsecond), Remaining: t.Ends.Sub(at.now),
			})
		}
	}
	if len(v.Holds) > 0 || v.Waiters > 0 {
		v.Token = l.Token
	}
	return v
}

// live is how many permits are held under leases that have not run out.
func (l *Lock) live(at *Moment) (permits int) {
	for _, h := range l.Holds {
		if at.holds(h.Token, h.Ends) {
			permits += h.Permits
		}
	}
	return permits
}

// next is the hold whose lease is the next to run out, and of several at once the one whose holder
// and request come first.
func (l *Lock) next(at *Moment) (next *Hold) {
	for i := range l.Holds {
		h := &l.Holds[i]
		if at.holds(h.Token, h.Ends) && (next == nil || cmp.Or(
			h.Ends.Compare(next.Ends), cmp.Compare(id(h.Holder, h.Request), id(next.Holder, next.Request))) < 0) {
			next = h
		}
	}
	return next
}

func (l *Lock) fits(permits, limit int) bool {
	for _, h := range l.Holds {
		permits += h.Permits
	}
	return permits <= limit
}

func (l *Lock) find(me string) int {
	return slices.IndexFunc(l.Holds, func(h Hold) bool { return id(h.Holder, h.Request) == me })
}
