package record

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// keepLock is for how long a lock is kept after it was of use: longer than the store's clock may go
// back while nobody uses the lock, since tokens have to rise.
const keepLock = 5 * time.Minute

// Encode implements [State].
func (l *Lock) Encode(stamp int64) []byte {
	w := &writer{b: make([]byte, 0, 256), stamp: stamp}
	w.b = append(w.b, lockFormat)
	w.number(l.Born)
	w.token(l.Token)
	w.count(len(l.Holds))
	for _, h := range l.Holds {
		w.text(h.Holder)
		w.text(h.Request)
		w.token(h.Token)
		w.number(int64(h.TTL))
		w.count(h.Permits)
		w.count(h.Limit)
		w.flags(h.Notify)
		w.time(h.Since)
	}
	w.number(l.Arrived)
	w.count(len(l.Queue))
	for _, p := range l.Queue {
		t := l.Waiters[p.ID]
		w.number(p.Rank)
		w.number(p.Arrival)
		w.text(t.Holder)
		w.text(t.Request)
		w.count(t.Permits)
		w.count(t.Limit)
		w.count(int(t.Order))
		w.time(t.Since)
		w.time(t.Ends)
	}
	w.count(len(l.Gone))
	for _, g := range l.Gone {
		w.token(g.Token)
		w.flags(g.Released)
	}
	if len(l.Withdrawn) > 0 || !l.Owed.IsZero() { // an earlier release reads no more than the above
		w.time(l.Owed)
		w.count(len(l.Withdrawn))
		for _, d := range l.Withdrawn {
			w.text(d.Holder)
			w.text(d.Request)
			w.time(d.Until)
		}
	}
	return w.b
}

// Decode implements [State].
func (l *Lock) Decode(name string, data []byte, stamp int64, ends func(token int64) time.Time) error {
	*l = Lock{}
	if data == nil {
		return nil
	}
	d := &reader{b: data, stamp: stamp}
	d.begin(lockFormat)
	l.Born, l.Token = d.number(), d.token()
	l.Holds = list(d, func(h *Hold) {
		h.Name = name
		h.Holder, h.Request, h.Token = d.text(), d.text(), d.token()
		h.TTL, h.Permits, h.Limit = time.Duration(d.number()), d.plain(), d.plain()
		d.flags(&h.Notify)
		h.Since, h.Ends = d.time(), ends(h.Token)
	})
	l.Arrived = d.number()
	waiters := list(d, func(t *Waiter) {
		t.Rank, t.Arrival, t.Holder, t.Request = d.number(), d.number(), d.text(), d.text()
		t.Permits, t.Limit, t.Order = d.plain(), d.plain(), protocol.Order(d.plain())
		t.Since, t.Ends = d.time(), d.time()
		t.ID = id(t.Holder, t.Request)
	})
	if len(waiters) > 0 {
		l.Waiters = make(map[string]Waiter, len(waiters))
	}
	for _, t := range waiters {
		l.Waiters[t.ID], l.Queue = t, append(l.Queue, t.Place)
	}
	l.Gone = list(d, func(g *Gone) {
		g.Token = d.token()
		d.flags(&g.Released)
	})
	if len(d.b) > 0 {
		l.Owed = d.time()
		l.Withdrawn = list(d, func(w *Withdrawn) { w.Holder, w.Request, w.Until = d.text(), d.text(), d.time() })
	}
	return d.end()
}

// AppendLeases implements [State].
func (l *Lock) AppendLeases(leases []Lease) []Lease {
	for _, h := range l.Holds {
		leases = append(leases, Lease{Token: h.Token, Holder: id(h.Holder, h.Request), Ends: h.Ends})
	}
	return leases
}

// Keep implements [State]. A lock is of use while it is held or waited for, while a holder may ask
// that lost its hold before the end of its lease, and while its tokens are ahead of the clock.
func (l *Lock) Keep() time.Duration {
	keep := max(0, l.Owed.Sub(l.now), time.UnixMicro(l.Token).Sub(l.now))
	for _, h := range l.Holds {
		keep = max(keep, h.TTL)
	}
	for _, w := range l.Waiters {
		keep = max(keep, w.Ends.Sub(l.now))
	}
	return keep + keepLock
}
