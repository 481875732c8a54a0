package record

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// State is a [Record] or a [Lock], for a store that keeps a value and the ends of its leases.
type State interface {
	// Encode returns the value, without the ends of leases. The token stamp stands for whatever the change that writes the
	// value is stamped with.
	Encode(stamp int64) []byte
	// Decode makes the state of a value that a change with this stamp has written; nil is that of the zero state. ends
	// says when the lease with a token ends, the zero time when there is none. name is that of the record.
	Decode(name string, data []byte, stamp int64, ends func(token int64) time.Time) error
	// Leases are those that the state has.
	Leases() []Lease
	// Keep is for how long the value has to be kept when nobody touches it; 0 for ever.
	Keep() time.Duration
}

// Lease is a lease of a [State].
type Lease struct {
	Token   int64
	Holder  string // of a tick; of a lock with its request, after a space
	Ends    time.Time
	Stopped bool // it is to end: a renewal has to be answered by the rules
}

// The first byte of a value says what it is and in which format.
const (
	recordFormat  = 0x13
	lockFormat    = 0x22
	settledFormat = 0x31
)

// keepLock is for how long a lock that nobody touches is kept at least. No place in its queue lasts longer.
const keepLock = 24 * time.Hour

// scratches are what values are written into before their size is known.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// Encode implements [State]. Settled ticks are kept as far as the rules look at them, without the notes of holders. What a
// summary shows comes first: see [Summarize].
func (r *Record) Encode(stamp int64) []byte {
	recent := r.recent()
	scratch := scratches.Get().(*[]byte)
	w := &writer{b: (*scratch)[:0], stamp: stamp}
	w.b = append(w.b, recordFormat)
	w.flags(r.Known, r.Wait, r.Paused != nil)
	w.number(r.Watermark)
	w.base = baseOf(r.Watermark)
	w.number(r.Gap.From)
	w.number(r.Gap.To)
	w.token(r.Token)
	w.count(len(r.Open))
	for _, e := range r.Open {
		w.tick(e.Tick)
		w.text(e.Holder)
		w.text(e.Request)
		w.token(e.Token)
		w.count(e.Attempt)
		w.count(e.Takeovers)
		w.number(int64(e.TTL))
		w.flags(e.Released)
	}
	w.count(len(r.Cancels))
	for _, c := range r.Cancels {
		w.tick(c.Tick)
		w.text(c.By)
	}
	if r.Paused != nil {
		w.text(r.Paused.By)
		w.text(r.Paused.Reason)
		w.at(r.Paused.Since)
	}
	w.count(len(r.Schedules))
	for _, s := range slices.Backward(r.Schedules) {
		w.text(s.Text)
		w.at(s.Since)
	}
	w.kinds(recent)
	for _, s := range slices.Backward(recent) {
		w.settlement(s)
	}
	w.number(r.Stop.Before)
	w.token(r.Stop.Token)
	w.count(len(r.Exceptions))
	for _, n := range r.Exceptions {
		w.number(n)
	}
	w.text(r.Revision)
	w.time(r.Revised)
	w.flags(r.Policy.Beside, r.Policy.NoTriggers)
	w.number(int64(r.Policy.Every))
	w.count(r.Policy.Burst)
	w.count(r.Policy.History)
	w.count(len(r.Triggered))
	for _, t := range r.Triggered {
		w.number(t.Tick)
		w.text(t.Request)
	}
	w.time(r.Theoretical)
	w.count(len(r.Keys))
	for _, k := range r.Keys {
		w.text(k.Key)
		w.number(k.Tick)
		w.time(k.Ends)
	}
	value := bytes.Clone(w.b)
	*scratch = w.b
	scratches.Put(scratch)
	return value
}

// kind is the part of a settlement that says whether a summary shows it.
type kind struct {
	outcome         protocol.Outcome
	ranged, granted bool
}

func kindOf(s Settled) kind { return kind{s.Outcome, s.From != 0, s.Token != 0} }

// kinds writes how many are settled, and their kinds, newest first: each with how often it comes in a row.
func (w *writer) kinds(list []Settled) {
	w.count(len(list))
	for n := len(list); n > 0; {
		k, from := kindOf(list[n-1]), n-1
		for from > 0 && kindOf(list[from-1]) == k {
			from--
		}
		w.flags(k.ranged, k.granted)
		w.text(string(k.outcome))
		w.count(n - from)
		n = from
	}
}

// kinds reads the settled ticks, as far as their kinds.
func (r *reader) kinds() []Settled {
	n := r.plain()
	if n > protocol.Remembered {
		r.fail()
	}
	if n == 0 || r.err != nil {
		return nil
	}
	list := make([]Settled, n)
	for n > 0 {
		s := Settled{Settled: protocol.Settled{Attempt: unread}}
		var ranged, granted bool
		r.flags(&ranged, &granted)
		if ranged {
			s.From = unread
		}
		if granted {
			s.Token = unread
		}
		s.Outcome = protocol.Outcome(r.text())
		times := r.plain()
		if times < 1 || times > n {
			r.fail()
			return nil
		}
		for range times {
			n--
			list[n] = s
		}
	}
	return list
}

// settlement writes all of s but its outcome.
func (w *writer) settlement(s Settled) {
	w.tick(s.Tick)
	w.number(s.From)
	w.token(s.Token)
	w.count(s.Attempt)
	w.at(s.At)
	w.text(s.Holder)
	if !ofRules(s.Note) {
		s.Note = ""
	}
	w.text(s.Note)
	w.text(s.Request)
}

func (r *reader) settlement(s *Settled) {
	s.Tick, s.From, s.Token, s.Attempt = r.tick(), r.number(), r.token(), r.plain()
	s.At, s.Holder, s.Note, s.Request = r.at(), r.text(), r.text(), r.text()
}

// Decode implements [State].
func (r *Record) Decode(name string, data []byte, stamp int64, ends func(token int64) time.Time) error {
	*r = Record{}
	if data == nil {
		return nil
	}
	d := &reader{b: data, stamp: stamp}
	r.decodeHead(d, name, ends)
	for i := range slices.Backward(r.Settled) {
		d.settlement(&r.Settled[i])
	}
	r.Stop = Stop{Before: d.number(), Token: d.token()}
	r.Exceptions = list(d, func(n *int64) { *n = d.number() })
	r.Revision, r.Revised = d.text(), d.time()
	d.flags(&r.Policy.Beside, &r.Policy.NoTriggers)
	r.Policy.Every, r.Policy.Burst, r.Policy.History = time.Duration(d.number()), d.plain(), d.plain()
	r.Triggered = list(d, func(t *Triggered) { t.Tick, t.Request = d.number(), d.text() })
	r.Theoretical = d.time()
	r.Keys = list(d, func(k *Key) { k.Key, k.Tick, k.Ends = d.text(), d.number(), d.time() })
	return d.end()
}

// decodeHead reads the beginning of a value, up to the kinds of the settled ticks.
func (r *Record) decodeHead(d *reader, name string, ends func(token int64) time.Time) {
	d.begin(recordFormat)
	var paused bool
	d.flags(&r.Known, &r.Wait, &paused)
	r.Watermark = d.number()
	d.base = baseOf(r.Watermark)
	r.Gap.From, r.Gap.To, r.Token = d.number(), d.number(), d.token()
	r.Open = list(d, func(e *Entry) {
		e.Name = name
		e.Tick, e.Holder, e.Request, e.Token = d.tick(), d.text(), d.text(), d.token()
		e.Attempt, e.Takeovers, e.TTL = d.plain(), d.plain(), time.Duration(d.number())
		d.flags(&e.Released)
	})
	r.SetEnds(ends)
	r.Cancels = list(d, func(c *Cancel) { c.Tick, c.By = d.tick(), d.text() })
	if paused {
		r.Paused = &protocol.Pause{By: d.text(), Reason: d.text(), Since: d.at()}
	}
	r.Schedules = list(d, func(s *protocol.Schedule) { s.Text, s.Since = d.text(), d.at() })
	slices.Reverse(r.Schedules)
	r.Settled = d.kinds()
}

// Leases implements [State].
func (r *Record) Leases() []Lease {
	var leases []Lease
	for _, e := range r.Open {
		if e.waits() || e.Released {
			continue
		}
		_, cancelled := r.cancelled(e.Tick)
		leases = append(leases, Lease{Token: e.Token, Holder: e.Holder, Ends: e.Ends, Stopped: cancelled || r.Stop.has(e)})
	}
	return leases
}

// Keep implements [State]: records of ticks are kept, while plain locks may have any number of names.
func (r *Record) Keep() time.Duration {
	if r.Known || r.Gap != (Gap{}) {
		return 0
	}
	keep := keepLock
	for _, e := range r.Open {
		keep = max(keep, e.TTL+keepLock)
	}
	return keep
}

// Recall adds the ticks of a history to the settled ticks, oldest first.
func (r *Record) Recall(history []protocol.Settled) {
	var older []Settled
	for _, s := range history {
		if !slices.ContainsFunc(r.Settled, func(known Settled) bool {
			return known.Tick == s.Tick && known.Token == s.Token && known.From == s.From
		}) {
			older = append(older, Settled{Settled: s})
		}
	}
	r.Settled, r.recalled = append(older, r.Settled...), true
}

// News returns the ticks settled since the record was decoded, oldest first.
func (r *Record) News() []protocol.Settled { return r.news }

// ofRules reports whether a note is one that rules make, and look at.
func ofRules(note string) bool {
	return note == "" || note == protocol.NoteOverlap || note == protocol.NotePaused || note == protocol.NoteOpen || note == protocol.NoteNewer || protocol.OfStore(note)
}

// EncodeSettled returns what a history keeps of a settled tick.
func EncodeSettled(s protocol.Settled) []byte {
	w := &writer{b: make([]byte, 0, 64+len(s.Holder)+len(s.Note))}
	w.b = append(w.b, settledFormat)
	w.settled(s)
	return w.b
}

// DecodeSettled reads what [EncodeSettled] wrote.
func DecodeSettled(data []byte) (protocol.Settled, error) {
	d := &reader{b: data}
	d.begin(settledFormat)
	s := d.settled()
	return s, d.end()
}

func (w *writer) settled(s protocol.Settled) {
	w.number(s.Tick)
	w.number(s.From)
	w.token(s.Token)
	w.count(s.Attempt)
	w.text(string(s.Outcome))
	w.time(s.At)
	w.text(s.Holder)
	w.text(s.Note)
}

func (r *reader) settled() protocol.Settled {
	return protocol.Settled{
		Tick: r.number(), From: r.number(), Token: r.token(), Attempt: r.plain(),
		Outcome: protocol.Outcome(r.text()), At: r.time(), Holder: r.text(), Note: r.text(),
	}
}

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
	return d.end()
}

// Leases implements [State].
func (l *Lock) Leases() []Lease {
	leases := make([]Lease, 0, len(l.Holds))
	for _, h := range l.Holds {
		leases = append(leases, Lease{Token: h.Token, Holder: id(h.Holder, h.Request), Ends: h.Ends})
	}
	return slices.Clip(leases)
}

// Keep implements [State].
func (l *Lock) Keep() time.Duration {
	keep := keepLock
	for _, h := range l.Holds {
		keep = max(keep, h.TTL+keepLock)
	}
	return keep
}
