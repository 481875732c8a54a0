// Package record decides what a store answers: it is the state of one name as a value, with each verb of [lease.Store] as
// a method.
//
// A store that can change a value atomically (a transaction, a compare and swap, a lock) needs nothing else: it loads the
// value, calls the method with its clock's time, and saves the value before it passes the answer on. The value is plain
// data, which encoding/json writes and reads. Package redislease does the same in scripts.
package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/lease"
)

// Record is what a store knows of one name. The zero value knows nothing. Callers do not look at the fields, which are
// exported so that they can be stored, and call the methods one at a time.
type Record struct {
	Known   bool  // the mark is
	Mark    int64 // every occasion up to it is settled or open
	Gap     Gap
	Token   int64 // of the last grant
	Open    []Entry
	Settled []Settled // the last few, newest last
	Wait    bool      // a claim was told to wait
}

// Entry is an occasion that was granted and is not settled.
type Entry struct {
	lease.Grant
	Ends     time.Time // of its lease, by the store's clock
	Released bool
}

// Settled is a settled occasion.
type Settled struct {
	lease.Settled
	Request string // the one that settled it, where no grant did
}

// Gap holds the occasions after From up to To: of them a record that was lost, or went back in time, may have lost
// grants, and their holders may write themselves anew.
type Gap struct{ From, To int64 }

func (g Gap) has(occasion int64) bool { return g.From < occasion && occasion <= g.To }

// Claim answers a valid claim.
func (r *Record) Claim(c lease.Claim, now time.Time) lease.Answer {
	if c.Occasion > 0 && !r.Known {
		return lease.Answer{Status: lease.Unknown, Mark: c.Known, Now: now.UTC()}
	}
	a := r.claim(c, now)
	a.Mark, a.Now = r.Mark, now.UTC()
	for _, e := range r.Open {
		if e.Occasion != c.Occasion {
			a.Open = append(a.Open, e.view(now))
		}
	}
	return a
}

// Renew answers the renewal of a valid grant.
func (r *Record) Renew(g lease.Grant, now time.Time) error {
	e := r.current(g)
	if e == nil || e.Released {
		return lease.ErrFenced
	}
	e.Ends = now.Add(g.Term)
	e.Attempt = max(e.Attempt, g.Attempt)
	return nil
}

// Settle settles the occasion of a valid grant with a valid outcome. wake tells that someone may be waiting for that.
func (r *Record) Settle(g lease.Grant, outcome lease.Outcome) (wake bool, err error) {
	return r.end(g, outcome)
}

// Release frees the occasion of a valid grant.
func (r *Record) Release(g lease.Grant) (wake bool, err error) { return r.end(g, "") }

func (r *Record) end(g lease.Grant, outcome lease.Outcome) (wake bool, err error) {
	lock := g.Occasion == 0
	if r.find(g.Occasion) < 0 && (lock && r.settledBy(g, "") || outcome != "" && r.settledBy(g, outcome)) {
		return false, nil
	}
	e := r.current(g)
	if e == nil {
		return false, lease.ErrFenced
	}
	if outcome == "" && !lock {
		e.Ends, e.Released, e.Attempt = time.Time{}, true, max(e.Attempt, g.Attempt)
	} else {
		r.remove(r.find(g.Occasion))
		r.remember(g.Occasion, g.Token, "", cmp.Or(outcome, "released"))
	}
	wake = r.Wait || outcome == "" || lock
	r.Wait = false
	return wake, nil
}

// Pass answers a valid pass.
func (r *Record) Pass(p lease.Pass) (mark int64, passed bool) {
	switch {
	case !r.Known:
		return 0, false
	case r.remembered(p.To, p.Request):
		return r.Mark, true
	case r.Mark != p.From:
		return r.Mark, false
	}
	r.Mark = p.To
	r.remember(p.To, 0, p.Request, p.Outcome)
	return r.Mark, true
}

// Sync answers a valid sync.
func (r *Record) Sync(y lease.Sync, now time.Time) lease.Record {
	made := !r.Known
	if made {
		// Those who have written themselves anew meanwhile (Gap.To) prove that at least so much was decided.
		r.Known, r.Mark = true, max(y.Mark, y.Known, r.Gap.To)
		r.Gap.To = r.Mark
	}
	r.learn(y.Known)
	v := r.View(y.Name, now)
	v.Made = made
	return v
}

// View shows the record of name.
func (r *Record) View(name string, now time.Time) lease.Record {
	v := lease.Record{Name: name, Mark: r.Mark, Token: r.Token}
	for _, e := range r.Open {
		v.Open = append(v.Open, e.view(now))
	}
	for _, s := range r.Settled {
		v.Settled = append(v.Settled, s.Settled)
	}
	return v
}

func (r *Record) claim(c lease.Claim, now time.Time) lease.Answer {
	n := c.Occasion
	if n > 0 {
		r.learn(c.Known)
	}
	g := lease.Grant{
		Name: c.Name, Occasion: n, Holder: c.Holder, Request: c.Request,
		Attempt: 1, Takeovers: c.Takeovers, Term: c.Term,
	}
	if i := r.find(n); i >= 0 {
		e := r.Open[i]
		if e.Ends.After(now) {
			if e.Holder == c.Holder && e.Request == c.Request {
				return granted(e, now)
			}
			return lease.Answer{Status: lease.Held, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Left: e.Ends.Sub(now)}
		}
		r.remove(i)
		if n > 0 {
			g.Attempt, g.Takeovers = e.Attempt+1, e.Takeovers
			if !e.Released {
				if e.Takeovers == 0 {
					r.remember(n, e.Token, "", lease.OutcomeLost)
					return lease.Answer{Status: lease.Lost, Token: e.Token, Attempt: e.Attempt}
				}
				g.Takeovers--
			}
		}
		return r.grant(g, now)
	}
	if n == 0 {
		return r.grant(g, now)
	}
	if n <= r.Mark {
		if r.remembered(n, c.Request) {
			return lease.Answer{Status: lease.Skipped}
		}
		return lease.Answer{Status: lease.Decided}
	}
	if c.NotBefore.After(now) {
		return lease.Answer{Status: lease.Early, Left: c.NotBefore.Sub(now)}
	}
	if !c.NotAfter.IsZero() && now.After(c.NotAfter) {
		return lease.Answer{Status: lease.Late}
	}
	lost := r.sweep(now)
	if first := r.longest(); first != nil && c.Overlap == lease.OverlapSkip {
		r.Mark = n
		r.remember(n, 0, c.Request, lease.OutcomeSkipped)
		return lease.Answer{Status: lease.Skipped, LostToo: lost}
	} else if first != nil && c.Overlap == lease.OverlapWait {
		r.Wait = true
		return lease.Answer{
			Status: lease.Busy, Token: first.Token, Attempt: first.Attempt, Holder: first.Holder,
			Left: max(0, first.Ends.Sub(now)), LostToo: lost,
		}
	}
	r.Mark = n
	a := r.grant(g, now)
	a.LostToo = lost
	return a
}

// learn takes in a mark that a claimer has heard of: a record that is behind it has lost what happened in between.
func (r *Record) learn(known int64) {
	if r.Mark >= known {
		return
	}
	if r.Gap.To < r.Mark {
		r.Gap.From = r.Mark
	}
	r.Mark, r.Gap.To = known, known
}

func (r *Record) grant(g lease.Grant, now time.Time) lease.Answer {
	r.Token = max(r.Token+1, now.UnixMicro())
	g.Token = r.Token
	e := Entry{Grant: g, Ends: now.Add(g.Term)}
	r.Open = append(r.Open, e)
	return granted(e, now)
}

func granted(e Entry, now time.Time) lease.Answer {
	return lease.Answer{Status: lease.Granted, Token: e.Token, Attempt: e.Attempt, Takeovers: e.Takeovers, Left: e.Ends.Sub(now)}
}

// sweep settles what ran out and may not be granted again: it is over, and stands in nobody's way.
func (r *Record) sweep(now time.Time) (lost []int64) {
	r.Open = slices.DeleteFunc(r.Open, func(e Entry) bool {
		over := e.Occasion > 0 && e.Takeovers == 0 && !e.Released && !e.Ends.After(now)
		if over {
			r.remember(e.Occasion, e.Token, "", lease.OutcomeLost)
			lost = append(lost, e.Occasion)
		}
		return over
	})
	return lost
}

// longest returns the occasion that is open for longest; of several, the oldest.
func (r *Record) longest() (first *Entry) {
	for i := range r.Open {
		e := &r.Open[i]
		if e.Occasion > 0 && (first == nil || e.Ends.After(first.Ends) || e.Ends.Equal(first.Ends) && e.Occasion < first.Occasion) {
			first = e
		}
	}
	return first
}

func (r *Record) find(occasion int64) int {
	for i := range r.Open {
		if r.Open[i].Occasion == occasion {
			return i
		}
	}
	return -1
}

func (r *Record) remove(i int) { r.Open = append(r.Open[:i], r.Open[i+1:]...) }

// remember appends an occasion to the settled ones, of which only the newest are kept. One that is dropped leaves the
// gap, so that a late request for it cannot pass for a lost grant.
func (r *Record) remember(occasion, token int64, request string, outcome lease.Outcome) {
	r.Settled = append(r.Settled, Settled{lease.Settled{Occasion: occasion, Token: token, Outcome: outcome}, request})
	for ; len(r.Settled) > lease.Remembered; r.Settled = r.Settled[1:] {
		if dropped := r.Settled[0].Occasion; r.Gap.has(dropped) {
			r.Gap.From = dropped
		}
	}
}

// remembered tells whether the occasion was settled by request without a grant.
func (r *Record) remembered(occasion int64, request string) bool {
	return slices.ContainsFunc(r.Settled, func(s Settled) bool {
		return s.Occasion == occasion && s.Token == 0 && s.Request == request
	})
}

// settledBy tells whether g has settled its occasion, with the outcome where there is one.
func (r *Record) settledBy(g lease.Grant, outcome lease.Outcome) bool {
	return slices.ContainsFunc(r.Settled, func(s Settled) bool {
		return s.Occasion == g.Occasion && s.Token == g.Token && (outcome == "" || s.Outcome == outcome)
	})
}

// forgotten tells whether g, which is not open, may be missing only because the record was lost or went back in time.
// other tells that another grant of the occasion is open.
func (r *Record) forgotten(g lease.Grant, other bool) bool {
	if other || g.Occasion == 0 {
		return g.Token > r.Token && !r.settledBy(g, "")
	}
	if slices.ContainsFunc(r.Settled, func(s Settled) bool { return s.Occasion == g.Occasion }) {
		return false
	}
	newest := r.Mark
	if !r.Known {
		newest = r.Gap.To
	}
	return g.Occasion > newest || r.Gap.has(g.Occasion)
}

// current finds the open entry of g, and writes it anew when it was forgotten; nil when g is not current.
func (r *Record) current(g lease.Grant) *Entry {
	i := r.find(g.Occasion)
	if i >= 0 && r.Open[i].Token == g.Token {
		return &r.Open[i]
	}
	if !r.forgotten(g, i >= 0) {
		return nil
	}
	r.Token = max(r.Token, g.Token)
	if r.Known {
		r.learn(g.Occasion)
	} else {
		r.Gap.To = max(r.Gap.To, g.Occasion)
	}
	if i >= 0 {
		r.remove(i)
	}
	r.Open = append(r.Open, Entry{Grant: g})
	return &r.Open[len(r.Open)-1]
}

func (e Entry) view(now time.Time) lease.Open {
	left := max(0, e.Ends.Sub(now))
	return lease.Open{Occasion: e.Occasion, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Left: left}
}
