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

// Gone is a grant that has ended by itself, or by force, or that was given back when the store had
// forgotten it.
type Gone struct {
	Token    int64
	Released bool
}

const remembered = 64 // how many are gone at most

// Renew answers the renewal of a valid grant of the lock.
func (l *Lock) Renew(g protocol.LockGrant, at *Moment) error {
	l.now = at.now
	h := l.current(g, at)
	if h == nil {
		return protocol.ErrFenced
	}
	h.Ends = at.now.Add(g.TTL)
	return nil
}

// Release gives back what a grant holds of the lock, which is valid but for a token that may be 0.
func (l *Lock) Release(g protocol.LockGrant, at *Moment) (woken []string, err error) {
	l.now = at.now
	me := id(g.Holder, g.Request)
	if g.Pending {
		l.withdraw(g, at)
	}
	waited := l.leave(me)
	if i := l.find(me); i >= 0 && (g.Token == 0 || l.Holds[i].Token == g.Token) {
		h := l.Holds[i]
		l.Holds = slices.Delete(l.Holds, i, i+1)
		if h.Token < l.Born { // else it could be taken for a forgotten one
			l.rememberEnd(h.Token, true)
		}
		woken = l.nextRequests(at)
		if h.Notify {
			woken = notify(woken, h.Request)
		}
		return woken, nil
	}
	held := len(l.Holds)
	if g.Token != 0 {
		err = l.releaseAbsent(g, at)
	}
	if waited || len(l.Holds) < held {
		woken = l.nextRequests(at)
	}
	return woken, err
}

// releaseAbsent answers the release of a grant that is not held.
func (l *Lock) releaseAbsent(g protocol.LockGrant, at *Moment) error {
	l.Born = cmp.Or(l.Born, at.now.UnixMicro())
	i := l.gone(g.Token)
	switch {
	case i >= 0 && !l.Gone[i].Released:
		return protocol.ErrFenced
	case i >= 0 || g.Token <= l.Token && g.Token >= l.Born:
		return nil // it was given back before
	}
	if !l.makeRoom(g, at) {
		return protocol.ErrFenced
	}
	l.Token = max(l.Token, g.Token)
	l.rememberEnd(g.Token, true)
	return nil
}

// ForceRelease takes the grant with this token away from its holder.
func (l *Lock) ForceRelease(token int64, at *Moment) (woken []string, held bool) {
	i := slices.IndexFunc(l.Holds, func(h Hold) bool { return h.Token == token })
	if i < 0 {
		return nil, false
	}
	l.now = at.now
	request := l.Holds[i].Request
	l.oust(i, at)
	return notify(l.nextRequests(at), request), true
}

// lose takes a grant away.
func (l *Lock) lose(i int, at *Moment) protocol.LostHold {
	h := l.Holds[i]
	l.Holds = slices.Delete(l.Holds, i, i+1)
	l.rememberEnd(h.Token, false)
	return protocol.LostHold{Token: h.Token, Holder: h.Holder, At: at.micro()}
}

// oust takes a grant away whose lease may not be over.
func (l *Lock) oust(i int, at *Moment) {
	if ends := l.Holds[i].Ends; ends.After(l.Owed) {
		l.Owed = ends
	}
	l.lose(i, at)
}

// sweep takes away the grants whose leases have run out.
func (l *Lock) sweep(at *Moment) (lost []protocol.LostHold) {
	for i := 0; i < len(l.Holds); {
		if at.holds(l.Holds[i].Token, l.Holds[i].Ends) {
			i++
			continue
		}
		lost = append(lost, l.lose(i, at))
	}
	return lost
}

// rememberEnd remembers that a grant has ended.
func (l *Lock) rememberEnd(token int64, released bool) {
	l.Gone = append(l.Gone, Gone{token, released})
	l.Gone = l.Gone[max(0, len(l.Gone)-remembered):]
}

func (l *Lock) gone(token int64) int {
	return slices.IndexFunc(l.Gone, func(g Gone) bool { return g.Token == token })
}

// current finds the hold of g, and writes it back when it was forgotten and there is room; nil when
// g is not current.
func (l *Lock) current(g protocol.LockGrant, at *Moment) *Hold {
	l.Born = cmp.Or(l.Born, at.now.UnixMicro())
	me := id(g.Holder, g.Request)
	if i := l.find(me); i >= 0 {
		if l.Holds[i].Token != g.Token {
			return nil
		}
		return &l.Holds[i]
	}
	if g.Token <= l.Token && g.Token >= l.Born || l.gone(g.Token) >= 0 {
		return nil
	}
	if !l.makeRoom(g, at) {
		return nil
	}
	l.Token = max(l.Token, g.Token)
	i, _ := slices.BinarySearchFunc(l.Holds, g.Token, func(h Hold, token int64) int { return cmp.Compare(h.Token, token) })
	l.Holds = slices.Insert(l.Holds, i, Hold{LockGrant: g, Since: time.UnixMicro(g.Token).UTC()})
	return &l.Holds[i]
}

// makeRoom makes room for g to be written back. It takes away holds that have run out, and then, if
// that helps, the grants before g. When g was granted they cannot have been held any more, or all
// is lost already and the higher token decides.
func (l *Lock) makeRoom(g protocol.LockGrant, at *Moment) bool {
	if !l.fits(g.Permits, g.Limit) {
		l.sweep(at)
	}
	newer := 0
	for _, h := range l.Holds {
		if h.Token > g.Token {
			newer += h.Permits
		}
	}
	if newer+g.Permits > g.Limit {
		return l.fits(g.Permits, g.Limit)
	}
	for !l.fits(g.Permits, g.Limit) {
		l.oust(0, at)
	}
	return true
}
