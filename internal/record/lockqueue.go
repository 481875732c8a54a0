package record

import (
	"slices"
	"sort"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Waiter is a claim that waits in the queue.
type Waiter struct {
	Place
	Holder, Request string
	Permits, Limit  int
	Order           protocol.Order
	Since, Ends     time.Time
}

// Place is the position of a waiter in the queue: by rank, and among equals by arrival.
type Place struct {
	Rank, Arrival int64
	ID            string // of the waiter
}

const (
	mostWoken  = 64  // how many are notified to claim; more of them means any
	mostLooked = 128 // how many in the queue are looked at
)

// nextRequests returns the requests that would be granted the lock if they claimed it now, in
// order.
func (l *Lock) nextRequests(at *Moment) (woken []string) {
	if l.first(at) == nil {
		return nil
	}
	used := l.live(at)
	for _, p := range l.Queue[:min(mostLooked, len(l.Queue))] {
		t := l.Waiters[p.ID]
		switch {
		case at.reached(t.Ends):
		case used+t.Permits <= t.Limit:
			if len(woken) == mostWoken {
				return []string{}
			}
			woken = append(woken, t.Request)
			used += t.Permits
		case t.Order != protocol.OrderAny:
			return woken
		}
	}
	return woken
}

// ahead returns how many permits the waiters before a place in the queue will take. It is blocked
// when one of them has to wait: that one is granted the lock first.
func (l *Lock) ahead(place Place, at *Moment) (permits int, blocked bool) {
	used := l.live(at)
	for i, p := range l.Queue {
		t := l.Waiters[p.ID]
		switch {
		case i >= mostLooked:
			return permits, true
		case !p.before(place):
			return permits, false
		case at.reached(t.Ends):
		case used+permits+t.Permits <= t.Limit:
			permits += t.Permits
		case t.Order != protocol.OrderAny:
			return permits, true
		}
	}
	return permits, false
}

// notify adds a request to those that are notified, where an empty list means any.
func notify(woken []string, request string) []string {
	if woken != nil && len(woken) == 0 {
		return woken
	}
	return append(woken, request)
}

// anyRank is the rank of those who wait in any order: they come after all others.
const anyRank = protocol.MaxPermits

// place is where a claim that comes now would wait.
func (l *Lock) place(c protocol.LockClaim, me string) Place {
	p := Place{Arrival: l.Arrived + 1, ID: me}
	switch c.Order {
	case protocol.OrderArrival:
	case protocol.OrderLargest:
		p.Rank = int64(protocol.MaxPermits - c.Permits)
	case protocol.OrderAny:
		p.Rank = anyRank
	}
	return p
}

func (p Place) before(q Place) bool {
	return p.Rank < q.Rank || p.Rank == q.Rank && p.Arrival < q.Arrival
}

// enter puts a claim in the queue, or renews its waiter's TTL.
func (l *Lock) enter(c protocol.LockClaim, me string, waits bool, at *Moment) {
	t := l.Waiters[me]
	if !waits {
		l.leave(me)
		t = Waiter{Place: l.place(c, me), Holder: c.Holder, Request: c.Request, Since: at.now}
		l.Arrived++
		i := sort.Search(len(l.Queue), func(i int) bool { return t.before(l.Queue[i]) })
		l.Queue = slices.Insert(l.Queue, i, t.Place)
		if l.Waiters == nil {
			l.Waiters = make(map[string]Waiter)
		}
	}
	t.Permits, t.Limit, t.Order, t.Ends = c.Permits, c.Limit, c.Order, at.now.Add(c.WaiterTTL)
	l.Waiters[me] = t
}

// leave takes a waiter out of the queue, and reports whether there was one.
func (l *Lock) leave(me string) bool {
	t, ok := l.Waiters[me]
	if !ok {
		return false
	}
	delete(l.Waiters, me)
	i := sort.Search(len(l.Queue), func(i int) bool { return !l.Queue[i].before(t.Place) })
	l.Queue = slices.Delete(l.Queue, i, i+1)
	return true
}

// first is the first waiter in the queue; those before it whose TTL has passed are removed.
func (l *Lock) first(at *Moment) *Waiter {
	for len(l.Queue) > 0 {
		t := l.Waiters[l.Queue[0].ID]
		if !at.reached(t.Ends) {
			return &t
		}
		l.leave(t.ID)
	}
	return nil
}

// Withdrawn is a request that was given up while a claim of it could be under way.
type Withdrawn struct {
	Holder, Request string
	Until           time.Time // then such a claim would be granted again
}

// withdraw refuses what may still be claimed under the request of g.
func (l *Lock) withdraw(g protocol.LockGrant, at *Moment) {
	l.forgetWithdrawn(at)
	if _, ok := l.withdrawn(id(g.Holder, g.Request), at); !ok {
		l.Withdrawn = append(l.Withdrawn, Withdrawn{g.Holder, g.Request, at.now.Add(protocol.WithdrawnFor)})
	}
}

func (l *Lock) forgetWithdrawn(at *Moment) {
	for len(l.Withdrawn) > 0 && at.reached(l.Withdrawn[0].Until) {
		l.Withdrawn = l.Withdrawn[1:]
	}
}

// withdrawn reports whether a request was given up, and until when its claims are refused.
func (l *Lock) withdrawn(me string, at *Moment) (until time.Time, ok bool) {
	i := slices.IndexFunc(l.Withdrawn, func(w Withdrawn) bool { return id(w.Holder, w.Request) == me })
	if i < 0 || at.reached(l.Withdrawn[i].Until) {
		return time.Time{}, false
	}
	return l.Withdrawn[i].Until, true
}
