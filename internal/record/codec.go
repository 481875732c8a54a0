package record

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// errFormat is why a value cannot be read.
var errFormat = errors.New("record: not a value of this format")

// writer writes values: numbers as varints, and a string that came before as its place.
type writer struct {
	b     []byte
	stamp int64
	base  int64 // the number near which others are written: see baseOf
	seen  texts
}

// baseOf is the number that the times and tokens of a record with this watermark are near to, most
// often: so they take half the bytes. It is one from which every token differs by less than
// MaxInt64.
func baseOf(watermark int64) int64 {
	if watermark < 0 || watermark >= 1<<43 {
		return 0
	}
	return watermark * 1000
}

func (w *writer) number(n int64) { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) count(n int)    { w.b = binary.AppendUvarint(w.b, uint64(n)) }

func (w *writer) flags(list ...bool) {
	n := 0
	for i, set := range list {
		if set {
			n |= 1 << i
		}
	}
	w.count(n)
}

func (w *writer) text(s string) {
	if i := slices.Index(w.seen.all(), s); i >= 0 {
		w.count(i + 1)
		return
	}
	w.newText(s)
}

// newText writes a string that most likely did not come before.
func (w *writer) newText(s string) {
	w.seen.add(s)
	w.count(0)
	w.count(len(s))
	w.b = append(w.b, s...)
}

// texts are the strings that are written once, of which there are few: each is looked for among
// them.
type texts struct {
	list [64]string
	n    int
}

func (t *texts) all() []string { return t.list[:t.n] }

func (t *texts) add(s string) {
	if t.n < len(t.list) {
		t.list[t.n] = s
		t.n++
	}
}

// token writes a token, as 1 when the store is to put the stamp of the change there.
func (w *writer) token(t int64) {
	switch t {
	case 0:
		w.b = append(w.b, 0)
	case w.stamp:
		w.b = append(w.b, 1)
	default:
		w.b = binary.AppendUvarint(w.b, zigzag(t-w.base)+2)
	}
}

// zigzag makes small numbers of numbers near 0.
func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// tick writes a tick as its distance from the base.
func (w *writer) tick(n int64) { w.number(n - w.base/1000) }

// at writes a time that is not zero as its distance from the base.
func (w *writer) at(t time.Time) {
	if t.IsZero() {
		w.number(-w.base)
		return
	}
	w.number(t.UnixMicro() - w.base)
}

func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.number(0)
		return
	}
	w.number(t.UnixMicro())
}

// reader reads what a writer wrote. After the first fault everything is zero.
type reader struct {
	b     []byte
	stamp int64
	base  int64
	seen  texts
	err   error
}

func (r *reader) fail() {
	r.b, r.err = nil, errFormat
}

func (r *reader) failed() bool { return r.err != nil }

func (r *reader) number() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count reads a count of things of which each takes a byte at least.
func (r *reader) count() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

// plain reads a number that is no count of what follows.
func (r *reader) plain() int {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > math.MaxInt32 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return int(n)
}

func (r *reader) flags(list ...*bool) {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return
	}
	r.b = r.b[size:]
	for i, set := range list {
		*set = n&(1<<i) != 0
	}
}

func (r *reader) text() string {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(r.seen.n) {
		r.fail()
		return ""
	}
	r.b = r.b[size:]
	if n > 0 {
		return r.seen.list[n-1]
	}
	length := r.count()
	if length > len(r.b) {
		r.fail()
		return ""
	}
	s := string(r.b[:length])
	r.b = r.b[length:]
	r.seen.add(s)
	return s
}

func (r *reader) token() int64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	switch n {
	case 0:
		return 0
	case 1:
		return r.stamp
	default:
		return unzigzag(n-2) + r.base
	}
}

func (r *reader) tick() int64 { return r.number() + r.base/1000 }

func (r *reader) at() time.Time { return decodedTime(r.number() + r.base) }

func (r *reader) time() time.Time {
	return decodedTime(r.number())
}

func decodedTime(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// list reads a list, nil when it is empty.
func list[T any](r *reader, read func(*T)) []T {
	n := r.count()
	if n == 0 {
		return nil
	}
	all := make([]T, n)
	for i := range all {
		read(&all[i])
	}
	return all
}

// begin reads the first byte of a value of that kind.
func (r *reader) begin(kind byte) {
	if len(r.b) == 0 || r.b[0] != kind {
		r.fail()
		return
	}
	r.b = r.b[1:]
}

// end returns the fault.
func (r *reader) end() error {
	if len(r.b) > 0 {
		r.fail()
	}
	return r.err
}

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
