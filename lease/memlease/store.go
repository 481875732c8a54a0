// Package memlease keeps leases in this process: for tests, examples, and a replica that is alone.
package memlease

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Store is a [lease.Store] in memory. The zero value is ready for use, in the namespace "default"; see [New] for one with a
// name. It is safe for concurrent use, and its clock is the process's, unless [Store.Step] moves it.
type Store struct {
	namespace string // "" is lease.DefaultNamespace

	mu          sync.Mutex
	records     map[string]*record.Record
	since       time.Time
	watchers    map[*watcher]struct{}
	members     map[string]member
	journals    map[string]*record.Journal
	listens     map[*listener]struct{}
	subscribers map[*subscriber]struct{}
	ahead       time.Duration // of the process's clock
}

// New makes a store whose fleet has a name: it is part of every tick's identity. It matches the pattern of a name. What is
// in one Store no other Store sees, whatever their namespaces.
func New(namespace string) (*Store, error) {
	if !lease.ValidName(namespace) {
		return nil, fmt.Errorf("memlease: namespace %q %s", namespace, lease.NameRule)
	}
	return &Store{namespace: namespace}, nil
}

// Namespace implements [lease.Namespacer].
func (s *Store) Namespace() string { return cmp.Or(s.namespace, lease.DefaultNamespace) }

type watcher func(name string, occasion int64)

// Forget drops everything, as an emptied Redis would.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records, s.members, s.journals, s.since = nil, nil, nil, time.Time{}
}

// Step moves the store's clock by d against the process's, as somebody who sets the clock of a Redis server's machine does.
func (s *Store) Step(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// nowLocked returns the store's time.
func (s *Store) nowLocked() time.Time { return time.Now().Add(s.ahead) }

// recordLocked returns the record of name, a new one if need be.
func (s *Store) recordLocked(name string) *record.Record {
	r := s.records[name]
	if r == nil {
		if s.records == nil {
			s.records = make(map[string]*record.Record)
		}
		r = new(record.Record)
		s.records[name] = r
	}
	return r
}

// Claim implements [lease.Store].
func (s *Store) Claim(ctx context.Context, c lease.Claim) (lease.Answer, error) {
	if err := cmp.Or(c.Validate(), context.Cause(ctx)); err != nil {
		return lease.Answer{}, err
	}
	s.mu.Lock()
	r := s.recordLocked(c.Name)
	a, wake := r.Claim(c, record.At(s.nowLocked()))
	tell := s.tellLocked(c.Name, r.Woken())
	s.unlock(wake, c.Name, 0)
	tell()
	return a, nil
}

// unlock ends what began with the mutex held, and then wakes those who watch, if wake says so.
func (s *Store) unlock(wake bool, name string, occasion int64) {
	var wakes []watcher
	if wake {
		for f := range s.watchers {
			wakes = append(wakes, *f)
		}
	}
	s.mu.Unlock()
	for _, f := range wakes {
		f(name, occasion)
	}
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, grants []lease.Grant) []error {
	answers := make([]error, len(grants))
	ended := context.Cause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	for i, g := range grants {
		if answers[i] = cmp.Or(g.Validate(), ended); answers[i] == nil {
			answers[i] = s.recordLocked(g.Name).Renew(g, record.At(now))
		}
	}
	return answers
}

// Settle implements [lease.Store].
func (s *Store) Settle(ctx context.Context, g lease.Grant, outcome lease.Outcome) error {
	if !lease.ValidOutcome(outcome) {
		return fmt.Errorf("settle %q: outcome %q %s", g.Name, outcome, lease.OutcomeRule)
	}
	if err := g.Validate(); err != nil {
		return err
	}
	return s.end(ctx, g, func(r *record.Record, now time.Time) (bool, error) { return r.Settle(g, outcome, record.At(now)) })
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, g lease.Grant) error {
	return s.end(ctx, g, func(r *record.Record, now time.Time) (bool, error) { return r.Release(g, record.At(now)) })
}

func (s *Store) end(ctx context.Context, g lease.Grant, verb func(*record.Record, time.Time) (wake bool, err error)) error {
	if err := cmp.Or(g.ValidateRelease(), context.Cause(ctx)); err != nil {
		return err
	}
	s.mu.Lock()
	r := s.recordLocked(g.Name)
	wake, err := verb(r, s.nowLocked())
	tell := s.tellLocked(g.Name, r.Woken())
	s.unlock(wake, g.Name, 0)
	tell()
	return err
}

// Pass implements [lease.Store].
func (s *Store) Pass(ctx context.Context, p lease.Pass) (int64, bool, error) {
	if err := cmp.Or(p.Validate(), context.Cause(ctx)); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recordLocked(p.Name).Pass(p, record.At(s.nowLocked()))
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
	now := s.nowLocked()
	records := make([]lease.Record, len(syncs))
	for i, y := range syncs {
		var err error
		if records[i], err = s.recordLocked(y.Name).Sync(y, record.At(now)); err != nil {
			return nil, err
		}
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
	return r.View(name, record.At(s.nowLocked())), nil
}

// Time implements [lease.Store].
func (s *Store) Time(ctx context.Context) (now, since time.Time, err error) {
	if err := context.Cause(ctx); err != nil {
		return time.Time{}, time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.nowLocked().UTC()
	if s.since.IsZero() {
		s.since = now
	}
	return now, s.since, nil
}

// Watch implements [lease.Watcher].
func (s *Store) Watch(ctx context.Context, wake func(name string, occasion int64)) error {
	w := watcher(wake)
	s.mu.Lock()
	if s.watchers == nil {
		s.watchers = make(map[*watcher]struct{})
	}
	s.watchers[&w] = struct{}{}
	s.mu.Unlock()
	wake("", 0)
	<-ctx.Done()
	s.mu.Lock()
	delete(s.watchers, &w)
	s.mu.Unlock()
	return context.Cause(ctx)
}
