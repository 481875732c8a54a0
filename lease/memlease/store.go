// Package memlease keeps leases in this process: for tests, examples, and a replica that is alone.
package memlease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/lease"
)

// Store is a [lease.Store] in memory. The zero value is ready for use. It is safe for concurrent use, and its clock is
// the process's.
type Store struct {
	mu       sync.Mutex
	records  map[string]*record
	since    time.Time
	watchers map[*func(string)]struct{}
}

type record struct {
	known   bool  // the mark is
	mark    int64 // every occasion up to it is settled or open
	since   int64 // of the occasions up to it this record may have lost writes
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
	id string // the token, or the request that settled it without one
}

// Forget drops everything, as an emptied Redis would.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records, s.since = nil, time.Time{}
}

// recordLocked returns the record of name, a new one if need be.
func (s *Store) recordLocked(name string) *record {
	r := s.records[name]
	if r == nil {
		if s.records == nil {
			s.records = make(map[string]*record)
		}
		r = new(record)
		s.records[name] = r
	}
	return r
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Answer, error) {
	if err := c.Validate(); err != nil {
		return lease.Answer{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return lease.Answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	r := s.records[c.Name]
	if c.Occasion > 0 && (r == nil || !r.known) {
		return lease.Answer{Status: lease.Unknown, Mark: c.Known, Now: now.UTC()}, nil
	}
	if r == nil {
		r = s.recordLocked(c.Name)
	}
	a := r.claim(c, now)
	a.Mark, a.Now = r.mark, now.UTC()
	for _, e := range r.open {
		if e.Occasion != c.Occasion {
			a.Open = append(a.Open, e.view(now))
		}
	}
	return a, nil
}

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
		if r.remembered(n, 0, c.Request) {
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

// learn takes in a mark that a claimer has heard of: a record that is behind it has lost writes.
func (r *record) learn(known int64) {
	if r.mark < known {
		r.mark, r.since = known, known
	}
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

// longest returns the occasion that is open for longest.
func (r *record) longest() (first *entry) {
	for i := range r.open {
		if e := &r.open[i]; e.Occasion > 0 && (first == nil || e.ends.After(first.ends)) {
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

func (r *record) remember(occasion, token int64, request string, outcome lease.Outcome) {
	r.settled = append(r.settled, settled{lease.Settled{Occasion: occasion, Token: token, Outcome: outcome}, request})
	if n := len(r.settled) - lease.Remembered; n > 0 {
		r.settled = append(r.settled[:0], r.settled[n:]...)
	}
}

func (r *record) remembered(occasion, token int64, request string) bool {
	for _, s := range r.settled {
		if s.Occasion == occasion && s.Token == token && (token > 0 || s.id == request) {
			return true
		}
	}
	return false
}

// forgotten tells whether the grant, whose occasion is not open, may be missing only because the record was lost.
func (r *record) forgotten(g lease.Grant) bool {
	switch {
	case r.remembered(g.Occasion, g.Token, ""):
		return false
	case g.Occasion == 0:
		return r.token < g.Token
	default:
		return !r.known || g.Occasion > r.mark || g.Occasion <= r.since
	}
}

// restore makes up for a forgotten grant.
func (r *record) restore(g lease.Grant) {
	r.token = max(r.token, g.Token)
	if r.known {
		r.learn(g.Occasion)
	}
}

// current finds the open entry of g, restoring it when it was forgotten; nil when g is not current.
func (r *record) current(g lease.Grant) *entry {
	i := r.find(g.Occasion)
	if i < 0 && r.forgotten(g) {
		r.restore(g)
		r.open = append(r.open, entry{Grant: g})
		i = len(r.open) - 1
	}
	if i < 0 || r.open[i].Token != g.Token {
		return nil
	}
	return &r.open[i]
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, grants []lease.Grant) []error {
	answers := make([]error, len(grants))
	if err := context.Cause(ctx); err != nil {
		for i := range answers {
			answers[i] = err
		}
		return answers
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for i, g := range grants {
		e := s.recordLocked(g.Name).current(g)
		if e == nil || e.released {
			answers[i] = lease.ErrFenced
			continue
		}
		e.ends = now.Add(g.Term)
		e.Attempt = max(e.Attempt, g.Attempt)
	}
	return answers
}

// Settle implements [lease.Store].
func (s *Store) Settle(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if outcome == "" {
		return fmt.Errorf("settle %q: the outcome is empty", g.Name)
	}
	return s.end(ctx, g, outcome)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, g lease.Grant) error { return s.end(ctx, g, "") }

func (s *Store) end(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	r := s.recordLocked(g.Name)
	final := outcome != "" || g.Occasion == 0
	if final && r.remembered(g.Occasion, g.Token, "") && r.find(g.Occasion) < 0 {
		s.mu.Unlock()
		return nil
	}
	e := r.current(g)
	if e == nil {
		s.mu.Unlock()
		return lease.ErrFenced
	}
	if final {
		if outcome == "" {
			outcome = "released"
		}
		r.remove(r.find(g.Occasion))
		r.remember(g.Occasion, g.Token, "", outcome)
	} else {
		e.ends, e.released = time.Time{}, true
	}
	wake := r.wait || !final || outcome == "released"
	r.wait = false
	var calls []func(string)
	if wake {
		for f := range s.watchers {
			calls = append(calls, *f)
		}
	}
	s.mu.Unlock()
	for _, f := range calls {
		f(g.Name)
	}
	return nil
}

// Pass implements [lease.Store].
func (s *Store) Pass(ctx context.Context, p lease.Pass) (int64, bool, error) {
	if err := context.Cause(ctx); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[p.Name]
	if r == nil || !r.known {
		return 0, false, nil
	}
	if r.remembered(p.To, 0, p.Request) {
		return r.mark, true, nil
	}
	if r.mark != p.From {
		return r.mark, false, nil
	}
	r.mark = p.To
	r.remember(p.To, 0, p.Request, p.Outcome)
	return r.mark, true, nil
}

// Sync implements [lease.Store].
func (s *Store) Sync(ctx context.Context, syncs []lease.Sync) ([]lease.Record, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	records := make([]lease.Record, len(syncs))
	for i, y := range syncs {
		if !lease.ValidName(y.Name) {
			return nil, fmt.Errorf("sync: name %q %s", y.Name, lease.NameRule)
		}
		r := s.recordLocked(y.Name)
		made := !r.known
		if made {
			r.known, r.mark = true, max(y.Mark, y.Known)
			for _, e := range r.open {
				r.mark = max(r.mark, e.Occasion)
			}
			r.since = r.mark
		}
		r.learn(y.Known)
		records[i] = r.view(y.Name, now)
		records[i].Made = made
	}
	return records, nil
}

// Inspect implements [lease.Inspector].
func (s *Store) Inspect(ctx context.Context, name string) (lease.Record, error) {
	if err := context.Cause(ctx); err != nil {
		return lease.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[name]
	if r == nil {
		return lease.Record{Name: name}, nil
	}
	return r.view(name, time.Now()), nil
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

// Time implements [lease.Store].
func (s *Store) Time(ctx context.Context) (now, since time.Time, err error) {
	if err := context.Cause(ctx); err != nil {
		return time.Time{}, time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now = time.Now().UTC()
	if s.since.IsZero() {
		s.since = now
	}
	return now, s.since, nil
}

// Watch implements [lease.Watcher].
func (s *Store) Watch(ctx context.Context, wake func(name string)) error {
	s.mu.Lock()
	if s.watchers == nil {
		s.watchers = make(map[*func(string)]struct{})
	}
	s.watchers[&wake] = struct{}{}
	s.mu.Unlock()
	wake("")
	<-ctx.Done()
	s.mu.Lock()
	delete(s.watchers, &wake)
	s.mu.Unlock()
	return context.Cause(ctx)
}
