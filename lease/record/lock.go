package record

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/solotick/solotick/lease"
)

// Lock is the lock of a name: who holds it, and who waits in line for it. The zero value is held by nobody.
type Lock struct {
	Born    int64  // when the store began to remember it, in Unix us; every token that it has granted since is at least that
	Token   int64  // of the last grant
	Holds   []Hold // oldest grant first
	Tickets map[string]Ticket
	Line    []Place // of the tickets, in order
	Arrived int64   // how many have come to wait
	Gone    []Gone  // the last few whose end a late request of theirs may ask about
}

// Hold is a grant that has not ended, though its lease may have run out: it keeps its permits until somebody needs them.
type Hold struct {
	lease.Grant
	Since, Ends time.Time
}

// Ticket keeps a place in the line.
type Ticket struct {
	Place
	Holder, Request string
	Permits, Limit  int
	Turn            lease.Turn
	Since, Ends     time.Time
}

// Place is where in the line a ticket is: by rank, and among equals by arrival.
type Place struct {
	Rank, Arrival int64
	ID            string // of the ticket
}

// Gone is a grant that has ended by itself, or by force, or that was given back when the store had forgotten it.
type Gone struct {
	Token    int64
	Released bool
}

const (
	remembered = 64  // how many are gone at most
	mostWoken  = 64  // how many are told that it is their turn; more of them means any
	mostLooked = 128 // how many in the line are looked at
)

func id(holder, request string) string { return holder + " " + request }

// Claim answers a valid claim of the lock. woken are the requests to tell of it.
func (l *Lock) Claim(c lease.Claim, now time.Time) (a lease.Answer, woken []string) {
	if l.Born == 0 {
		l.Born = now.UnixMicro()
	}
	me := id(c.Holder, c.Request)
	if i := l.find(me); i >= 0 {
		if h := l.Holds[i]; h.Ends.After(now) {
			return lease.Answer{
				Status: lease.Granted, Token: h.Token, Attempt: 1, Takeovers: c.Takeovers, Left: h.Ends.Sub(now), Now: now.UTC(),
			}, nil
		}
		a.Settled = append(a.Settled, l.lose(i, now))
	}
	before := len(l.Line)
	ticket, waits := l.Tickets[me]
	waits = waits && ticket.Ends.After(now)
	place := l.place(c, me)
	if waits {
		place = ticket.Place
	}
	first := l.first(now)
	dropped := len(l.Line) < before
	ahead, blocked := 0, false
	if c.Turn == lease.TurnAny || first != nil && !first.before(place) {
		first = nil
	}
	if first != nil {
		ahead, blocked = l.ahead(place, now)
	}
	if !l.fits(ahead+c.Permits, c.Limit) {
		a.Settled = append(a.Settled, l.sweep(now)...)
	}
	slices.SortFunc(a.Settled, func(a, b lease.Settled) int { return cmp.Compare(a.Token, b.Token) })

	if !blocked && l.fits(ahead+c.Permits, c.Limit) {
		l.Token = max(l.Token+1, now.UnixMicro())
		l.Holds = append(l.Holds, Hold{
			Grant: lease.Grant{
				Name: c.Name, Holder: c.Holder, Request: c.Request, Token: l.Token, Attempt: 1, Takeovers: c.Takeovers,
				Term: c.Term, Permits: c.Permits, Limit: c.Limit, Tell: c.Tell,
			},
			Since: now, Ends: now.Add(c.Term),
		})
		a.Status, a.Token, a.Attempt, a.Takeovers, a.Left, a.Now = lease.Granted, l.Token, 1, c.Takeovers, c.Term, now.UTC()
		l.leave(me)
		// Those whose turn it was know; what was counted as held until now may be enough for others.
		if len(a.Settled) > 0 || dropped || waits && ticket.Permits > c.Permits {
			woken = l.turns(now)
		}
		if c.Tell {
			woken = tell(woken, c.Request)
		}
		return a, woken
	}

	a.Status, a.Now = lease.Held, now.UTC()
	var ends time.Time
	if first != nil {
		a.Holder, ends = first.Holder, first.Ends
	}
	if h := l.next(now); h != nil {
		a.Token, a.Attempt, a.Holder = h.Token, 1, h.Holder
		if ends.IsZero() || h.Ends.Before(ends) {
			ends = h.Ends
		}
	}
	a.Left = ends.Sub(now)
	if c.Ticket > 0 {
		a.Status = lease.Queued
		l.enter(c, me, waits, now)
	}
	if len(a.Settled) > 0 || dropped {
		woken = l.turns(now)
	}
	return a, woken
}

// Renew answers the renewal of a valid grant of the lock.
func (l *Lock) Renew(g lease.Grant, now time.Time) error {
	h := l.current(g, now)
	if h == nil {
		return lease.ErrFenced
	}
	h.Ends = now.Add(g.Term)
	return nil
}

// Release gives back what a grant holds of the lock, which is valid but for a token that may be 0.
func (l *Lock) Release(g lease.Grant, now time.Time) (woken []string, err error) {
	me := id(g.Holder, g.Request)
	left := l.leave(me)
	if i := l.find(me); i >= 0 && (g.Token == 0 || l.Holds[i].Token == g.Token) {
		h := l.Holds[i]
		l.Holds = slices.Delete(l.Holds, i, i+1)
		if h.Token < l.Born { // else it could be taken for a forgotten one
			l.bury(h.Token, true)
		}
		woken = l.turns(now)
		if h.Tell {
			woken = tell(woken, h.Request)
		}
		return woken, nil
	}
	held := len(l.Holds)
	if g.Token != 0 {
		err = l.releaseAbsent(g, now)
	}
	if left || len(l.Holds) < held {
		woken = l.turns(now)
	}
	return woken, err
}

// releaseAbsent answers the release of a grant that is not held.
func (l *Lock) releaseAbsent(g lease.Grant, now time.Time) error {
	l.Born = cmp.Or(l.Born, now.UnixMicro())
	i := l.gone(g.Token)
	switch {
	case i >= 0 && !l.Gone[i].Released:
		return lease.ErrFenced
	case i >= 0 || g.Token <= l.Token && g.Token >= l.Born:
		return nil // it was given back before
	}
	if !l.makeRoom(g, now) {
		return lease.ErrFenced
	}
	l.Token = max(l.Token, g.Token)
	l.bury(g.Token, true)
	return nil
}

// ForceRelease takes the grant with this token away from its holder.
func (l *Lock) ForceRelease(token int64, now time.Time) (woken []string, held bool) {
	i := slices.IndexFunc(l.Holds, func(h Hold) bool { return h.Token == token })
	if i < 0 {
		return nil, false
	}
	request := l.Holds[i].Request
	l.lose(i, now)
	return tell(l.turns(now), request), true
}

// View shows the lock of that name.
func (l *Lock) View(name string, now time.Time) lease.Lock {
	v := lease.Lock{Name: name}
	for _, h := range l.Holds {
		v.Holds = append(v.Holds, lease.Hold{
			Holder: h.Holder, Request: h.Request, Token: h.Token, Permits: h.Permits,
			Since: h.Since.UTC().Truncate(time.Microsecond), Left: max(0, h.Ends.Sub(now)),
		})
	}
	for _, p := range l.Line {
		t := l.Tickets[p.ID]
		if !t.Ends.After(now) {
			continue
		}
		v.Waiters++
		if len(v.Line) < lease.MaxLine {
			v.Line = append(v.Line, lease.Waiter{
				Holder: t.Holder, Request: t.Request, Permits: t.Permits,
				Since: t.Since.UTC().Truncate(time.Microsecond), Left: t.Ends.Sub(now),
			})
		}
	}
	if len(v.Holds) > 0 || v.Waiters > 0 {
		v.Token = l.Token
	}
	return v
}

// turns returns the requests of those who would be granted the lock if they asked now, in turn.
func (l *Lock) turns(now time.Time) (woken []string) {
	if l.first(now) == nil {
		return nil
	}
	used := l.live(now)
	for _, p := range l.Line[:min(mostLooked, len(l.Line))] {
		t := l.Tickets[p.ID]
		switch {
		case !t.Ends.After(now):
		case used+t.Permits <= t.Limit:
			if len(woken) == mostWoken {
				return []string{}
			}
			woken = append(woken, t.Request)
			used += t.Permits
		case t.Turn != lease.TurnAny:
			return woken
		}
	}
	return woken
}

// ahead returns how many permits those will take who come before a place in the line. It is blocked when one of them has
// to wait: it is granted the lock first.
func (l *Lock) ahead(place Place, now time.Time) (permits int, blocked bool) {
	used := l.live(now)
	for i, p := range l.Line {
		t := l.Tickets[p.ID]
		switch {
		case i >= mostLooked:
			return permits, true
		case !p.before(place):
			return permits, false
		case !t.Ends.After(now):
		case used+permits+t.Permits <= t.Limit:
			permits += t.Permits
		case t.Turn != lease.TurnAny:
			return permits, true
		}
	}
	return permits, false
}

// live is how many permits are held under leases that have not run out.
func (l *Lock) live(now time.Time) (permits int) {
	for _, h := range l.Holds {
		if h.Ends.After(now) {
			permits += h.Permits
		}
	}
	return permits
}

// next is the hold whose lease is the next to run out, and of several at once the one whose holder and request come first.
func (l *Lock) next(now time.Time) (next *Hold) {
	for i := range l.Holds {
		h := &l.Holds[i]
		if h.Ends.After(now) && (next == nil || cmp.Or(
			h.Ends.Compare(next.Ends), cmp.Compare(id(h.Holder, h.Request), id(next.Holder, next.Request))) < 0) {
			next = h
		}
	}
	return next
}

// tell adds a request to those that are woken, where an empty list means any.
func tell(woken []string, request string) []string {
	if woken != nil && len(woken) == 0 {
		return woken
	}
	return append(woken, request)
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

// lose takes a grant away.
func (l *Lock) lose(i int, now time.Time) lease.Settled {
	h := l.Holds[i]
	l.Holds = slices.Delete(l.Holds, i, i+1)
	l.bury(h.Token, false)
	return lease.Settled{
		Token: h.Token, Attempt: 1, Outcome: lease.OutcomeLost, At: now.UTC().Truncate(time.Microsecond),
		Holder: h.Holder, Note: lease.NoteExpired,
	}
}

// sweep takes away the grants whose leases have run out.
func (l *Lock) sweep(now time.Time) (lost []lease.Settled) {
	for i := 0; i < len(l.Holds); {
		if l.Holds[i].Ends.After(now) {
			i++
			continue
		}
		lost = append(lost, l.lose(i, now))
	}
	return lost
}

// bury remembers that a grant has ended.
func (l *Lock) bury(token int64, released bool) {
	l.Gone = append(l.Gone, Gone{token, released})
	l.Gone = l.Gone[max(0, len(l.Gone)-remembered):]
}

func (l *Lock) gone(token int64) int {
	return slices.IndexFunc(l.Gone, func(g Gone) bool { return g.Token == token })
}

// current finds the hold of g, and writes it anew when it was forgotten and there is room; nil when g is not current.
func (l *Lock) current(g lease.Grant, now time.Time) *Hold {
	l.Born = cmp.Or(l.Born, now.UnixMicro())
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
	g.Note = ""
	if !l.makeRoom(g, now) {
		return nil
	}
	l.Token = max(l.Token, g.Token)
	i, _ := slices.BinarySearchFunc(l.Holds, g.Token, func(h Hold, token int64) int { return cmp.Compare(h.Token, token) })
	l.Holds = slices.Insert(l.Holds, i, Hold{Grant: g, Since: time.UnixMicro(g.Token).UTC()})
	return &l.Holds[i]
}

// makeRoom takes away what has run out, and then the grants before g, if that helps, for g to be written anew: when it was
// granted they can not have been held any more, or all is lost already and the higher token tells.
func (l *Lock) makeRoom(g lease.Grant, now time.Time) bool {
	if !l.fits(g.Permits, g.Limit) {
		l.sweep(now)
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
		l.lose(0, now)
	}
	return true
}

// place is where a claim that comes now would wait.
func (l *Lock) place(c lease.Claim, me string) Place {
	p := Place{Arrival: l.Arrived + 1, ID: me}
	if c.Turn == lease.TurnLargest {
		p.Rank = int64(lease.MaxPermits - c.Permits)
	}
	return p
}

func (p Place) before(q Place) bool {
	return p.Rank < q.Rank || p.Rank == q.Rank && p.Arrival < q.Arrival
}

// enter puts a claim in the line, or prolongs its ticket.
func (l *Lock) enter(c lease.Claim, me string, waits bool, now time.Time) {
	t := l.Tickets[me]
	if !waits {
		l.leave(me)
		t = Ticket{Place: l.place(c, me), Holder: c.Holder, Request: c.Request, Since: now}
		l.Arrived++
		i := sort.Search(len(l.Line), func(i int) bool { return t.before(l.Line[i]) })
		l.Line = slices.Insert(l.Line, i, t.Place)
		if l.Tickets == nil {
			l.Tickets = make(map[string]Ticket)
		}
	}
	t.Permits, t.Limit, t.Turn, t.Ends = c.Permits, c.Limit, c.Turn, now.Add(c.Ticket)
	l.Tickets[me] = t
}

// leave takes a ticket out of the line, and reports whether there was one.
func (l *Lock) leave(me string) bool {
	t, ok := l.Tickets[me]
	if !ok {
		return false
	}
	delete(l.Tickets, me)
	i := sort.Search(len(l.Line), func(i int) bool { return !l.Line[i].before(t.Place) })
	l.Line = slices.Delete(l.Line, i, i+1)
	return true
}

// first is the first ticket in the line; those before it whose life is over are thrown away.
func (l *Lock) first(now time.Time) *Ticket {
	for len(l.Line) > 0 {
		t := l.Tickets[l.Line[0].ID]
		if t.Ends.After(now) {
			return &t
		}
		l.leave(t.ID)
	}
	return nil
}
