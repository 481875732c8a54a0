package memlease

import (
	"cmp"
	"context"
	"fmt"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Pause implements [lease.Controller].
func (s *Store) Pause(ctx context.Context, name string, p lease.Pause) (lease.Pause, error) {
	if err := cmp.Or(checkName(name), p.Validate(), context.Cause(ctx)); err != nil {
		return lease.Pause{}, err
	}
	s.mu.Lock()
	in, err := s.recordLocked(name).Pause(p, record.At(s.nowLocked()))
	s.unlock(err == nil, name, lease.Ruled)
	return in, err
}

// Resume implements [lease.Controller].
func (s *Store) Resume(ctx context.Context, name string, r lease.Resume) (*lease.Pause, error) {
	if err := cmp.Or(checkName(name), r.Validate(), context.Cause(ctx)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	was, err := s.recordLocked(name).Resume(r, record.At(s.nowLocked()))
	s.unlock(err == nil, name, lease.Ruled)
	return was, err
}

// Cancel implements [lease.Canceller].
func (s *Store) Cancel(ctx context.Context, c lease.Cancel) (lease.Cancelled, error) {
	if err := cmp.Or(c.Validate(), context.Cause(ctx)); err != nil {
		return lease.Cancelled{}, err
	}
	s.mu.Lock()
	a, wake, err := s.recordLocked(c.Name).Cancel(c, record.At(s.nowLocked()))
	s.unlock(wake, c.Name, lease.Cancelling)
	return a, err
}

// Repair implements [lease.Repairer].
func (s *Store) Repair(ctx context.Context, q lease.Repair) (lease.Repaired, error) {
	if err := cmp.Or(q.Validate(), context.Cause(ctx)); err != nil {
		return lease.Repaired{}, err
	}
	s.mu.Lock()
	a, err := s.recordLocked(q.Name).Repair(q, record.At(s.nowLocked()))
	s.unlock(a.Changed, q.Name, lease.Ruled)
	return a, err
}

// Trigger implements [lease.Controller].
func (s *Store) Trigger(ctx context.Context, t lease.Trigger) (lease.Triggered, error) {
	if err := cmp.Or(t.Validate(), context.Cause(ctx)); err != nil {
		return lease.Triggered{}, err
	}
	s.mu.Lock()
	a, wake, err := s.recordLocked(t.Name).Trigger(t, record.At(s.nowLocked()))
	s.unlock(wake, t.Name, a.Occasion)
	return a, err
}

func checkName(name string) error {
	if !lease.ValidName(name) {
		return fmt.Errorf("memlease: name %q %s", name, lease.NameRule)
	}
	return nil
}
