package redislease

import (
	"context"

	"github.com/solotick/solotick/lease"
)

// Pause implements [lease.Controller].
func (s *Store) Pause(ctx context.Context, name string, p lease.Pause) (lease.Pause, error) {
	pause, err := s.Session.Pause(ctx, name, p)
	if err == nil {
		_ = s.note(ctx, name, lease.Ruled) // claims tell of it, too
	}
	return pause, err
}

// Resume implements [lease.Controller].
func (s *Store) Resume(ctx context.Context, name string, r lease.Resume) (*lease.Pause, error) {
	pause, err := s.Session.Resume(ctx, name, r)
	if err == nil {
		_ = s.note(ctx, name, lease.Ruled)
	}
	return pause, err
}

// Repair implements [lease.Repairer].
func (s *Store) Repair(ctx context.Context, q lease.Repair) (lease.Repaired, error) {
	repaired, err := s.Session.Repair(ctx, q)
	if err == nil {
		_ = s.note(ctx, q.Name, lease.Ruled) // the next sync shows it, too
	}
	return repaired, err
}

// Trigger implements [lease.Controller].
func (s *Store) Trigger(ctx context.Context, t lease.Trigger) (lease.Triggered, error) {
	a, err := s.Session.Trigger(ctx, t)
	if err == nil && a.Status == lease.Opened {
		err = s.note(ctx, t.Name, a.Occasion)
	}
	if err != nil {
		return lease.Triggered{}, err
	}
	return a, nil
}
