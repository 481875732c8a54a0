// Package record decides the answers of a store. It is the state of one name as a value, with each
// verb of [protocol.Store] as a method.
//
// A store that can change a value atomically (a transaction, a compare and swap, a lock) needs
// nothing else. It loads the value, calls the method with its clock's time, and saves the value.
// Only then does it pass the answer on: see [Moment]. The value is plain data, which encoding/json
// writes and reads. Package redislease does the same in scripts.
package record

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Record is the record of one name. The zero value knows nothing. Callers do not look at the
// fields, which are exported so that they can be stored, and call the methods one at a time.
type Record struct {
	Known     bool  // the watermark is
	Watermark int64 // every tick up to it is settled or open
	Gap       Gap
	Token     int64     // of the last grant
	Open      []Entry   // in the order of their last news
	Settled   []Settled // the last few, newest last
	Wait      bool      // a claim has to wait
	Stop      Stop      // what has to make room
	Cancels   []Cancel  `json:",omitempty"` // cancelled while they were held
	// Exceptions are past the watermark, in order, and yet settled or open: see
	// [protocol.Store]. What the watermark has passed since is dropped when it is convenient.
	Exceptions []int64 `json:",omitempty"`
	Paused     *protocol.Pause
	Resumed    time.Time // see [protocol.Record]
	Revision   string
	Revised    time.Time
	// Schedules are those that were in force since the watermark, oldest first.
	Schedules []protocol.Schedule

	Scheduled bool            // the record has a schedule that lies in the store: Revision, Schedules, Keyed
	Withdrawn bool            // it had one
	Keyed     protocol.Stored // the zero value unless it is scheduled

	Policy      protocol.Policy
	Triggered   []Triggered // those that may be sent again, and the last few; newest last
	Theoretical time.Time   // when the next trigger would come if they came evenly
	Keys        []Key

	news []protocol.Settled
	// recalled records have settlements of a history among those that are remembered: see Stored.
	recalled bool
}

// Entry is a tick that is open. It waits if it has no attempt.
type Entry struct {
	protocol.Grant
	Ends     time.Time // of its lease, by the store's clock
	Released bool
}

// Settled is a settled tick.
type Settled struct {
	protocol.Settled
	Request string // the one that settled it, where no grant did
}

// Stop names the grants, up to a token, of the ticks before one.
type Stop struct{ Before, Token int64 }

func (s Stop) has(e Entry) bool {
	return 0 < e.Tick && e.Tick < s.Before && e.Token <= s.Token
}

// Triggered is a tick that was triggered.
type Triggered struct {
	Tick    int64
	Request string
}

// Key makes a trigger that comes again the same.
type Key struct {
	Key    string
	Tick   int64
	Ends   time.Time
	Digest string // of the payload: see digest
}

// Gap holds the ticks after From up to To. A record that was lost, or went back in time, may have
// lost grants of them, and their holders may write themselves back.
type Gap struct{ From, To int64 }

func (g Gap) has(tick int64) bool { return g.From < tick && tick <= g.To }

// late reports whether it is too late for a request with that bound.
func late(until time.Time, at *Moment) bool { return !until.IsZero() && at.passed(until) }

// inBounds returns a [*protocol.BoundsError] if it is too late for a request with that bound.
func inBounds(until time.Time, at *Moment) error {
	if late(until, at) {
		return &protocol.BoundsError{Until: until, Now: at.now.UTC()}
	}
	return nil
}

// aheadBy is how far the clock by which a lease was renewed may be ahead of the store's. The nodes
// of a quorum are not exactly together.
const aheadBy = time.Second

// restart starts each lease over that was renewed when the store's clock was ahead of now. No more
// may remain of a lease than its TTL.
func (r *Record) restart(at *Moment) {
	for i := range r.Open {
		if e := &r.Open[i]; !e.waits() && !e.Released && !at.reached(e.Ends.Add(-e.TTL-aheadBy)) {
			e.Ends = at.now.Add(e.TTL)
		}
	}
}

// Skip answers a valid skip.
func (r *Record) Skip(p protocol.Skip, at *Moment) (watermark int64, passed bool, err error) {
	switch err := inBounds(p.Until, at); {
	case err != nil:
		return 0, false, err
	case !r.Known, !r.follows(p.Revision):
		return 0, false, nil
	case r.skipped(p.To, p.Request) != nil:
		return r.Watermark, true, nil
	case r.Watermark != p.From:
		return r.Watermark, false, nil
	}
	r.Watermark, r.Keyed.Due = p.To, p.NextDue
	r.remember(protocol.Settled{
		Tick: p.To, From: p.From, Outcome: p.Outcome, Holder: p.Holder, Note: protocol.Cut(p.Note, protocol.MaxNote),
	}, p.Request, at)
	return r.Watermark, true, nil
}

// Sync answers a valid sync.
func (r *Record) Sync(y protocol.Sync, at *Moment) (protocol.Record, error) {
	if err := inBounds(y.Until, at); err != nil {
		return protocol.Record{}, err
	}
	r.restart(at)
	made := !r.Known
	if made {
		r.Known, r.Watermark = true, max(y.Watermark, y.Known, r.proven(y.Policy))
		r.Gap.To = max(r.Gap.To, r.Watermark)
		r.Policy = y.Policy
		if y.Paused != nil {
			p := *y.Paused
			p.Reason, p.Since = protocol.Cut(p.Reason, protocol.MaxReason), p.Since.UTC().Truncate(time.Microsecond)
			r.Paused = &p
		}
	}
	if y.Defines {
		r.define(y.Policy, at)
	}
	r.learn(y.Known)
	if y.Revision != "" && (y.Revision != r.Revision || len(r.Schedules) == 0) {
		since := at.micro()
		switch {
		case made: // ticks past the watermark came due under it, as far as is known
			since = time.UnixMilli(r.Watermark).UTC()
		case y.Revision == r.Revision: // written by a version that kept no schedules
			since = r.Revised
		}
		r.Revision, r.Revised = y.Revision, since
		r.reschedule(protocol.Schedule{Since: since, Text: y.Schedule})
	}
	v := r.View(y.Name, at)
	v.Made, v.Settled = made, r.lastRun()
	for i := range v.Open {
		v.Open[i].CancelledBy = ""
	}
	return v, nil
}

// lastRun returns the newest settled tick that succeeded or failed, where one is remembered.
func (r *Record) lastRun() []protocol.Settled {
	for _, s := range slices.Backward(r.recent()) {
		if s.Outcome == protocol.OutcomeSucceeded || s.Outcome == protocol.OutcomeFailed {
			return []protocol.Settled{s.Settled}
		}
	}
	return nil
}

// define takes a policy. Of a new rate no more can be used up than all of it.
func (r *Record) define(p protocol.Policy, at *Moment) {
	if r.Policy == p {
		return
	}
	r.Policy = p
	if p.Every == 0 {
		r.Theoretical = time.Time{}
	} else if latest := at.micro().Add(times(p.Every, p.Burst)); r.Theoretical.After(latest) {
		r.Theoretical = latest
	}
}

// reschedule appends a schedule, and drops those that no tick past the watermark came due under.
func (r *Record) reschedule(s protocol.Schedule) {
	list := append(slices.Clip(r.Schedules), s)
	for len(list) > 1 && list[1].Since.UnixMilli() <= r.Watermark {
		list = list[1:]
	}
	if len(list) > protocol.MaxSchedules {
		list = slices.Delete(list, 1, 2)
	}
	r.Schedules = list
}

// View shows the record of name.
func (r *Record) View(name string, at *Moment) protocol.Record {
	v := protocol.Record{
		Name: name, Watermark: r.Watermark, Token: r.Token, Resumed: r.Resumed, Policy: r.Policy, Revision: r.Revision, Revised: r.Revised,
	}
	v.Schedules = slices.Clone(r.Schedules)
	if r.Paused != nil {
		p := *r.Paused
		v.Paused = &p
	}
	for _, e := range r.Open {
		o := e.view(at)
		o.CancelledBy, _ = r.cancelled(e.Tick)
		v.Open = append(v.Open, o)
	}
	for _, s := range r.Settled {
		v.Settled = append(v.Settled, s.Settled)
	}
	return v
}

func (e Entry) view(at *Moment) protocol.Open {
	remaining := max(0, e.Ends.Sub(at.now))
	return protocol.Open{Tick: e.Tick, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Remaining: remaining}
}

func (e Entry) waits() bool { return e.Attempt == 0 }

// learn takes in a watermark that a claimer knows: a record that is behind it has lost what
// happened in between.
func (r *Record) learn(known int64) {
	if r.Watermark >= known {
		return
	}
	r.widen(known)
	r.Watermark = known
}

// widen makes the gap reach to a tick, as far as the record does not know what was before.
func (r *Record) widen(to int64) {
	if r.Gap.To < r.Watermark {
		r.Gap.From = r.Watermark
	}
	r.Gap.To = max(r.Gap.To, to)
}

func (r *Record) find(tick int64) int {
	return slices.IndexFunc(r.Open, func(e Entry) bool { return e.Tick == tick })
}

func (r *Record) remove(i int) { r.Open = slices.Delete(r.Open, i, i+1) }

// remember takes down that a tick was settled, by a request where no grant did. One that is not
// remembered any more leaves the gap, so that a late request for it cannot pass for a lost grant.
func (r *Record) remember(s protocol.Settled, request string, at *Moment) protocol.Settled {
	s.At = at.micro()
	if s.From == 0 {
		r.forgetCancel(s.Tick)
	}
	if i := len(r.Settled) - protocol.Remembered; i >= 0 {
		if dropped := r.Settled[i].Tick; r.Gap.has(dropped) {
			r.Gap.From = dropped
		}
	}
	r.news = append(r.news, s)
	r.Settled = append(r.Settled, Settled{s, request})
	r.Settled = r.Settled[max(0, len(r.Settled)-max(r.Policy.Kept(), protocol.Remembered)):]
	return s
}

// over settles a tick that was granted, or waits, on the store's own account.
func (r *Record) over(e Entry, outcome protocol.Outcome, note string, at *Moment) protocol.Settled {
	return r.remember(protocol.Settled{
		Tick: e.Tick, Token: e.Token, Attempt: e.Attempt, Outcome: outcome, Holder: e.Holder, Note: note,
	}, "", at)
}

// recent are the settled ticks by which a repeated request is recognized.
func (r *Record) recent() []Settled { return r.Settled[max(0, len(r.Settled)-protocol.Remembered):] }

// remembers reports whether the tick was settled lately.
func (r *Record) remembers(tick int64) bool {
	return slices.ContainsFunc(r.recent(), func(s Settled) bool { return s.Tick == tick })
}

// skipped returns how request settled the tick without a grant; nil when it did not.
func (r *Record) skipped(tick int64, request string) *Settled {
	for i, s := range r.recent() {
		if s.Tick == tick && s.Token == 0 && s.Request == request {
			return &r.recent()[i]
		}
	}
	return nil
}

// settledBy reports whether g has settled its tick, with the outcome where there is one. A tick
// that the store has settled when its lease had run out, it has not.
func (r *Record) settledBy(g protocol.Grant, outcome protocol.Outcome) bool {
	return slices.ContainsFunc(r.recent(), func(s Settled) bool {
		return s.Tick == g.Tick && s.Token == g.Token && !protocol.OfStore(s.Note) && (outcome == "" || s.Outcome == outcome)
	})
}
