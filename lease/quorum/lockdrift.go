package quorum

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// ticketBlur is for how long a claim waits for a ticket before its own that is about to run out. Tickets have no drift: whoever
// has one asks again long before.
const ticketBlur = 20 * time.Millisecond

// doubt is what may be in the way of a claim and is over soon: after wait it is for certain.
type doubt struct {
	wait time.Duration
	end  func(l *record.Lock, now time.Time) // as if it were over
}

// doubts returns what of a lock is about to run out, or has run out by its term and not yet for certain; what is over first
// comes first. The claim's own hold is not in its way.
func doubts(l *record.Lock, c protocol.LockClaim, now time.Time) (list []doubt) {
	for i, h := range l.Holds {
		left := h.Ends.Sub(now)
		if left > blur(h.Term) || left+drift(h.Term) <= 0 || h.Holder == c.Holder && h.Request == c.Request {
			continue
		}
		list = append(list, doubt{left + drift(h.Term), func(l *record.Lock, now time.Time) { l.Holds[i].Ends = now }})
	}
	if c.Turn != protocol.TurnAny {
		for id, t := range l.Tickets {
			left := t.Ends.Sub(now)
			if left > ticketBlur || left <= 0 || t.Holder == c.Holder && t.Request == c.Request {
				continue
			}
			list = append(list, doubt{left, func(l *record.Lock, now time.Time) {
				t.Ends = now
				l.Tickets[id] = t
			}})
		}
	}
	slices.SortStableFunc(list, func(a, b doubt) int { return cmp.Compare(a.wait, b.wait) })
	return list
}

// claimLock answers a claim of a lock, under which leases that have not run out for certain count as held. With wait it has to
// come again after that, since something is over then that may be in its way: in the order of the line if it has a ticket, for
// it has entered it by then.
func claimLock(l *record.Lock, c protocol.LockClaim, now time.Time, patience time.Duration) (a protocol.LockAnswer, woken []string, wait time.Duration) {
	if left := ownLeft(l, c, now); left > 0 && left <= patience {
		return a, nil, left
	}
	unsure := doubts(l, c, now)
	if len(unsure) == 0 {
		a, woken = l.Claim(c, record.At(now))
		return a, woken, 0
	}
	before := cloneLock(l)
	undo := extendedHolds(l, c, now)
	a, woken = l.Claim(c, record.At(now))
	undo()
	if a.Status == protocol.Granted {
		return a, woken, 0
	}
	if wait = until(before, c, now, unsure); wait > patience {
		return a, woken, 0
	}
	if c.Ticket == 0 {
		*l = *before
		return protocol.LockAnswer{}, nil, wait
	}
	return a, woken, wait
}

// ownLeft is what is left of the claim's own hold when that is about to run out: 0 when it is not. It would be worth nothing.
func ownLeft(l *record.Lock, c protocol.LockClaim, now time.Time) time.Duration {
	for _, h := range l.Holds {
		if left := h.Ends.Sub(now); h.Holder == c.Holder && h.Request == c.Request && left > 0 && left <= blur(h.Term) {
			return left
		}
	}
	return 0
}

// until is when the claim would be granted, for all that is known; or when everything that is unsure is over, if it would not
// be granted then either: so that it learns of that.
func until(l *record.Lock, c protocol.LockClaim, now time.Time, unsure []doubt) time.Duration {
	n := sort.Search(len(unsure), func(n int) bool {
		later := cloneLock(l)
		for _, d := range unsure[:n+1] {
			d.end(later, now)
		}
		a, _ := later.Claim(c, record.At(now))
		return a.Status == protocol.Granted
	})
	return unsure[min(n, len(unsure)-1)].wait
}

// extendedHolds lets a claim see the leases of others that have not yet run out for certain as held. It returns what undoes that.
func extendedHolds(l *record.Lock, c protocol.LockClaim, now time.Time) (undo func()) {
	ends := make(map[int64]time.Time) // by token
	for i := range l.Holds {
		h := &l.Holds[i]
		if left := h.Ends.Sub(now); left <= 0 && left+drift(h.Term) > 0 && (h.Holder != c.Holder || h.Request != c.Request) {
			ends[h.Token] = h.Ends
			h.Ends = h.Ends.Add(drift(h.Term))
		}
	}
	return func() {
		for i := range l.Holds {
			if end, ok := ends[l.Holds[i].Token]; ok {
				l.Holds[i].Ends = end
			}
		}
	}
}
