// Package memlease keeps leases in this process: for tests, examples, and a replica that is alone.
package memlease

import (
	"cmp"
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
		if answers[i] = g.Validate(); answers[i] != nil {
			continue
		}
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
	if !lease.ValidOutcome(outcome) {
		return fmt.Errorf("settle %q: outcome %q %s", g.Name, outcome, lease.OutcomeRule)
	}
	return s.end(ctx, g, outcome)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, g lease.Grant) error { return s.end(ctx, g, "") }

func (s *Store) end(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if err := g.Validate(); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	wakes, err := s.settle(g, outcome)
	for _, wake := range wakes {
		wake(g.Name)
	}
	return err
}

// settle returns whom to wake.
func (s *Store) settle(g lease.Grant, outcome lease.Outcome) (wakes []func(string), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.recordLocked(g.Name)
	lock := g.Occasion == 0
	if r.find(g.Occasion) < 0 && (lock && r.settledBy(g, "") || outcome != "" && r.settledBy(g, outcome)) {
		return nil, nil
	}
	e := r.current(g)
	if e == nil {
		return nil, lease.ErrFenced
	}
	freed := outcome == "" || lock
	if outcome == "" && !lock {
		e.ends, e.released, e.Attempt = time.Time{}, true, max(e.Attempt, g.Attempt)
	} else {
		r.remove(r.find(g.Occasion))
		r.remember(g.Occasion, g.Token, "", cmp.Or(outcome, "released"))
	}
	if !r.wait && !freed {
		return nil, nil
	}
	r.wait = false
	for f := range s.watchers {
		wakes = append(wakes, *f)
	}
	return wakes, nil
}

// Pass implements [lease.Store].
func (s *Store) Pass(ctx context.Context, p lease.Pass) (int64, bool, error) {
	if err := p.Validate(); err != nil {
		return 0, false, err
	}
	if err := context.Cause(ctx); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[p.Name]
	if r == nil || !r.known {
		return 0, false, nil
	}
	if r.remembered(p.To, p.Request) {
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
	for _, y := range syncs {
		if err := y.Validate(); err != nil {
			return nil, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	records := make([]lease.Record, len(syncs))
	for i, y := range syncs {
		r := s.recordLocked(y.Name)
		made := !r.known
		if made {
			// Those who have written themselves anew meanwhile (gap.to) prove that at least so much was decided.
			r.known, r.mark = true, max(y.Mark, y.Known, r.gap.to)
			r.gap.to = r.mark
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
