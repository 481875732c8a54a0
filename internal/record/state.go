package record

import (
	"bytes"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// State is a [Record] or a [Lock], for a store that keeps a value and the ends of its leases.
type State interface {
	// Encode returns the value, without the ends of leases. The token stamp stands for whatever the
	// change that writes the value is stamped with.
	Encode(stamp int64) []byte
	// Decode makes the state of a value that a change with this stamp has written; nil is that of the
	// zero state. ends says when the lease with a token ends, the zero time when there is none. name
	// is that of the record.
	Decode(name string, data []byte, stamp int64, ends func(token int64) time.Time) error
	// AppendLeases appends the leases that the state has.
	AppendLeases(leases []Lease) []Lease
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
	recordFormat      = 0x13
	lockFormat        = 0x22
	limitFormat       = 0x42
	checkpointsFormat = 0x51
	settledFormat     = 0x31

	olderLimitFormat = 0x41 // without the ends of batches
)

// scratches are what values are written into before their size is known.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// Encode implements [State]. Settled ticks are kept as far as the rules look at them, without the
// notes of holders. What a summary shows comes first: see [Summarize].
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
		if w.flags(e.Released, e.Again != 0); e.Again != 0 {
			w.tick(e.Again)
		}
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
	w.flags(r.Policy.Beside, r.Policy.NoTriggers, r.Policy.Jitter != 0, !r.Resumed.IsZero())
	w.number(int64(r.Policy.Every))
	w.count(r.Policy.Burst)
	w.count(r.Policy.History)
	if r.Policy.Jitter != 0 {
		w.number(int64(r.Policy.Jitter))
	}
	if !r.Resumed.IsZero() {
		w.at(r.Resumed)
	}
	w.count(len(r.Triggered))
	for _, t := range r.Triggered {
		w.number(t.Tick)
		w.newText(t.Request)
	}
	w.time(r.Theoretical)
	w.count(len(r.Keys))
	for _, k := range r.Keys {
		w.text(k.Key)
		w.number(k.Tick)
		w.time(k.Ends)
	}
	w.payloads(r)
	w.keyed(r)
	value := bytes.Clone(w.b)
	*scratch = w.b
	scratches.Put(scratch)
	return value
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
	var jitter, resumed bool
	d.flags(&r.Policy.Beside, &r.Policy.NoTriggers, &jitter, &resumed)
	r.Policy.Every, r.Policy.Burst, r.Policy.History = time.Duration(d.number()), d.plain(), d.plain()
	if jitter {
		r.Policy.Jitter = time.Duration(d.number())
	}
	if resumed {
		r.Resumed = d.at()
	}
	r.Triggered = list(d, func(t *Triggered) { t.Tick, t.Request = d.number(), d.text() })
	r.Theoretical = d.time()
	r.Keys = list(d, func(k *Key) { k.Key, k.Tick, k.Ends = d.text(), d.number(), d.time() })
	d.payloads(r)
	d.keyed(r)
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
		var again bool
		if d.flags(&e.Released, &again); again {
			e.Again = d.tick()
		}
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

// AppendLeases implements [State].
func (r *Record) AppendLeases(leases []Lease) []Lease {
	for i := range r.Open {
		e := &r.Open[i]
		if e.waits() || e.Released {
			continue
		}
		_, cancelled := r.cancelled(e.Tick)
		leases = append(leases, Lease{Token: e.Token, Holder: e.Holder, Ends: e.Ends, Stopped: cancelled || r.Stop.has(*e)})
	}
	return leases
}

// Keep implements [State]: records of ticks are kept, while plain locks may have any number of
// names.
func (r *Record) Keep() time.Duration {
	if r.Known || r.Gap != (Gap{}) {
		return 0
	}
	const least = 24 * time.Hour
	keep := least
	for _, e := range r.Open {
		keep = max(keep, e.TTL+least)
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

// payloads writes those of the open ticks, and the digests of the keys, at the end of a value:
// nothing when there are none. So a summary need not read them.
func (w *writer) payloads(r *Record) {
	var open, keys []int
	for i, e := range r.Open {
		if e.Payload != "" {
			open = append(open, i)
		}
	}
	for i, k := range r.Keys {
		if k.Digest != "" {
			keys = append(keys, i)
		}
	}
	if len(open)+len(keys) == 0 && !r.Scheduled {
		return
	}
	w.count(len(open))
	for _, i := range open {
		w.count(i)
		w.text(r.Open[i].Payload)
	}
	w.count(len(keys))
	for _, i := range keys {
		w.count(i)
		w.text(r.Keys[i].Digest)
	}
}

func (r *reader) payloads(of *Record) {
	if len(r.b) == 0 {
		return
	}
	for range r.count() {
		if i, text := r.plain(), r.text(); i < len(of.Open) {
			of.Open[i].Payload = text
		} else {
			r.fail()
		}
	}
	for range r.count() {
		if i, text := r.plain(), r.text(); i < len(of.Keys) {
			of.Keys[i].Digest = text
		} else {
			r.fail()
		}
	}
}

// Stored turns the record into what Decode makes of its encoding, but for the ends of leases. The
// record was encoded with guessed, and the change that wrote the value has stamp. What Decode
// returned, or Stored returned true for, may have been changed in between by the rules and by
// Recall, but not by Restore. It reports false when Decode has to be called; then the record is of
// no more use.
func (r *Record) Stored(name string, guessed, stamp int64) bool {
	if r.recalled {
		return false
	}
	s := storing{guessed: guessed, stamp: stamp}
	for i := range r.Open {
		r.Open[i] = s.entry(name, r.Open[i])
	}
	recent := r.recent()
	for i := max(0, len(recent)-len(r.news)); i < len(recent); i++ {
		recent[i].Settled = s.settled(recent[i].Settled)
	}
	for i := range r.Schedules {
		r.Schedules[i].Since = stored(r.Schedules[i].Since)
	}
	for i := range r.Keys {
		r.Keys[i].Ends = stored(r.Keys[i].Ends)
	}
	if r.Paused != nil {
		r.Paused = &protocol.Pause{By: r.Paused.By, Reason: r.Paused.Reason, Since: stored(r.Paused.Since)}
	}
	*r = Record{
		Known: r.Known, Wait: r.Wait, Watermark: r.Watermark, Gap: r.Gap, Token: s.token(r.Token),
		Open: orNil(r.Open), Settled: orNil(recent),
		Stop: Stop{Before: r.Stop.Before, Token: s.token(r.Stop.Token)}, Cancels: orNil(r.Cancels), Exceptions: orNil(r.Exceptions),
		Paused: r.Paused, Resumed: stored(r.Resumed), Revision: r.Revision, Revised: stored(r.Revised), Schedules: orNil(r.Schedules),
		Scheduled: r.Scheduled, Withdrawn: r.Withdrawn, Keyed: r.Keyed,
		Policy: r.Policy, Triggered: orNil(r.Triggered), Theoretical: stored(r.Theoretical), Keys: orNil(r.Keys),
	}
	return !s.unreadable
}

// SetEnds sets the ends of the leases of a record that was decoded or stored: see [State].
func (r *Record) SetEnds(ends func(token int64) time.Time) {
	for i := range r.Open {
		if e := &r.Open[i]; !e.waits() && !e.Released {
			e.Ends = ends(e.Token)
		}
	}
}

// storing turns parts of a record into their decoded form.
type storing struct {
	guessed, stamp int64
	unreadable     bool
}

func (s *storing) entry(name string, e Entry) Entry {
	return Entry{
		Grant: protocol.Grant{
			Name: name, Tick: e.Tick, Holder: e.Holder, Request: e.Request, Token: s.token(e.Token),
			Attempt: s.plain(e.Attempt), Takeovers: s.plain(e.Takeovers), TTL: e.TTL, Payload: e.Payload, Again: e.Again,
		},
		Released: e.Released,
	}
}

func (s *storing) settled(of protocol.Settled) protocol.Settled {
	of.Token, of.Attempt, of.At = s.token(of.Token), s.plain(of.Attempt), stored(of.At)
	if !ofRules(of.Note) {
		of.Note = ""
	}
	return of
}

func (s *storing) token(token int64) int64 {
	if token != 0 && token == s.guessed {
		return s.stamp
	}
	return token
}

func (s *storing) plain(n int) int {
	s.unreadable = s.unreadable || n < 0 || n > math.MaxInt32
	return n
}

// stored is the decoded form of a time: whole microseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return decodedTime(t.UnixMicro())
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
