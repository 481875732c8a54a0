package memlease

import (
	"slices"
	"time"

	"github.com/solotick/solotick/lease"
)

type record struct {
	known   bool  // the mark is
	mark    int64 // every occasion up to it is settled or open
	gap     gap
	token   int64
	open    []entry
	settled []settled
	wait    bool // a claim was told to wait
}

type entry struct {
	lease.Grant
	ends     time.Time
	released bool
}

type settled struct {
	lease.Settled
	request string // the one that settled it, where no grant did
}

// gap holds the occasions after from up to to: of them a record that was lost, or went back in time, may have lost
// grants, and their holders may write themselves anew. This store forgets only when it is told to; it has the gap to
// obey the same rules as a store that loses writes.
type gap struct{ from, to int64 }

func (g gap) has(occasion int64) bool { return g.from < occasion && occasion <= g.to }

func (r *record) claim(c lease.Claim, now time.Time) lease.Answer {
	n := c.Occasion
	if n > 0 {
		r.learn(c.Known)
	}
	g := lease.Grant{
		Name: c.Name, Occasion: n, Holder: c.Holder, Request: c.Request,
		Attempt: 1, Takeovers: c.Takeovers, Term: c.Term,
	}
	if i := r.find(n); i >= 0 {
		e := r.open[i]
		if e.ends.After(now) {
			if e.Holder == c.Holder && e.Request == c.Request {
				return granted(e, now)
			}
			return lease.Answer{Status: lease.Held, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Left: e.ends.Sub(now)}
		}
		r.remove(i)
		if n > 0 {
			g.Attempt, g.Takeovers = e.Attempt+1, e.Takeovers
			if !e.released {
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
	if n <= r.mark {
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
		r.mark = n
		r.remember(n, 0, c.Request, lease.OutcomeSkipped)
		return lease.Answer{Status: lease.Skipped, LostToo: lost}
	} else if first != nil && c.Overlap == lease.OverlapWait {
		r.wait = true
		return lease.Answer{
			Status: lease.Busy, Token: first.Token, Attempt: first.Attempt, Holder: first.Holder,
			Left: max(0, first.ends.Sub(now)), LostToo: lost,
		}
	}
	r.mark = n
	a := r.grant(g, now)
	a.LostToo = lost
	return a
}

// learn takes in a mark that a claimer has heard of: a record that is behind it has lost what happened in between.
func (r *record) learn(known int64) {
	if r.mark >= known {
		return
	}
	if r.gap.to < r.mark {
		r.gap.from = r.mark
	}
	r.mark, r.gap.to = known, known
}

func (r *record) grant(g lease.Grant, now time.Time) lease.Answer {
	r.token = max(r.token+1, now.UnixMicro())
	g.Token = r.token
	e := entry{Grant: g, ends: now.Add(g.Term)}
	r.open = append(r.open, e)
	return granted(e, now)
}

func granted(e entry, now time.Time) lease.Answer {
	return lease.Answer{Status: lease.Granted, Token: e.Token, Attempt: e.Attempt, Takeovers: e.Takeovers, Left: e.ends.Sub(now)}
}

// sweep settles what ran out and may not be granted again: it is over, and stands in nobody's way.
func (r *record) sweep(now time.Time) (lost []int64) {
	for i := len(r.open) - 1; i >= 0; i-- {
		if e := r.open[i]; e.Occasion > 0 && e.Takeovers == 0 && !e.released && !e.ends.After(now) {
			r.remove(i)
			r.remember(e.Occasion, e.Token, "", lease.OutcomeLost)
			lost = append(lost, e.Occasion)
		}
	}
	return lost
}

// longest returns the occasion that is open for longest; of several, the oldest.
func (r *record) longest() (first *entry) {
	for i := range r.open {
		e := &r.open[i]
		if e.Occasion > 0 && (first == nil || e.ends.After(first.ends) || e.ends.Equal(first.ends) && e.Occasion < first.Occasion) {
			first = e
		}
	}
	return first
}

func (r *record) find(occasion int64) int {
	for i := range r.open {
		if r.open[i].Occasion == occasion {
			return i
		}
	}
	return -1
}

func (r *record) remove(i int) { r.open = append(r.open[:i], r.open[i+1:]...) }

// remember appends an occasion to the settled ones, of which only the newest are kept. One that is dropped leaves the
// gap, so that a late request for it cannot pass for a lost grant.
func (r *record) remember(occasion, token int64, request string, outcome lease.Outcome) {
	r.settled = append(r.settled, settled{lease.Settled{Occasion: occasion, Token: token, Outcome: outcome}, request})
	for ; len(r.settled) > lease.Remembered; r.settled = r.settled[1:] {
		if dropped := r.settled[0].Occasion; r.gap.has(dropped) {
			r.gap.from = dropped
		}
	}
}

// remembered tells whether the occasion was settled by request without a grant.
func (r *record) remembered(occasion int64, request string) bool {
	return slices.ContainsFunc(r.settled, func(s settled) bool {
		return s.Occasion == occasion && s.Token == 0 && s.request == request
	})
}

// settledBy tells whether g has settled its occasion, with the outcome where there is one.
func (r *record) settledBy(g lease.Grant, outcome lease.Outcome) bool {
	return slices.ContainsFunc(r.settled, func(s settled) bool {
		return s.Occasion == g.Occasion && s.Token == g.Token && (outcome == "" || s.Outcome == outcome)
	})
}

// forgotten tells whether g, which is not open, may be missing only because the record was lost or went back in time.
// other tells that another grant of the occasion is open.
func (r *record) forgotten(g lease.Grant, other bool) bool {
	if other || g.Occasion == 0 {
		return g.Token > r.token && !r.settledBy(g, "")
	}
	if slices.ContainsFunc(r.settled, func(s settled) bool { return s.Occasion == g.Occasion }) {
		return false
	}
	newest := r.mark
	if !r.known {
		newest = r.gap.to
	}
	return g.Occasion > newest || r.gap.has(g.Occasion)
}

// current finds the open entry of g, and writes it anew when it was forgotten; nil when g is not current.
func (r *record) current(g lease.Grant) *entry {
	i := r.find(g.Occasion)
	if i >= 0 && r.open[i].Token == g.Token {
		return &r.open[i]
	}
	if !r.forgotten(g, i >= 0) {
		return nil
	}
	r.token = max(r.token, g.Token)
	if r.known {
		r.learn(g.Occasion)
	} else {
		r.gap.to = max(r.gap.to, g.Occasion)
	}
	if i >= 0 {
		r.remove(i)
	}
	r.open = append(r.open, entry{Grant: g})
	return &r.open[len(r.open)-1]
}

func (r *record) view(name string, now time.Time) lease.Record {
	v := lease.Record{Name: name, Mark: r.mark, Token: r.token}
	for _, e := range r.open {
		v.Open = append(v.Open, e.view(now))
	}
	for _, s := range r.settled {
		v.Settled = append(v.Settled, s.Settled)
	}
	return v
}

func (e entry) view(now time.Time) lease.Open {
	left := max(0, e.ends.Sub(now))
	return lease.Open{Occasion: e.Occasion, Token: e.Token, Attempt: e.Attempt, Holder: e.Holder, Left: left}
}
