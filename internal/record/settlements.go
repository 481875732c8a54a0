package record

import (
	"github.com/solotick/solotick/internal/protocol"
)

// kind is the part of a settlement that says whether a summary shows it.
type kind struct {
	outcome         protocol.Outcome
	ranged, granted bool
}

func kindOf(s Settled) kind { return kind{s.Outcome, s.From != 0, s.Token != 0} }

// kinds writes how many are settled, and their kinds, newest first: each with how often it comes in
// a row.
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
