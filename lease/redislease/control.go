package redislease

import (
	"context"

	"github.com/solotick/solotick/lease"
)

// Pause implements [lease.Controller].
func (s *Store) Pause(ctx context.Context, name string, p lease.Pause) (pause lease.Pause, err error) {
	if err := s.confirmedAs(ctx, name, func(ctx context.Context) (err error) {
		pause, err = s.Session.Pause(ctx, name, p)
		return err
	}); err != nil {
		return lease.Pause{}, err
	}
	_ = s.note(ctx, name, lease.Ruled) // claims tell of it, too
	return pause, nil
}

// Resume implements [lease.Controller].
func (s *Store) Resume(ctx context.Context, name string, r lease.Resume) (pause *lease.Pause, err error) {
	if err := s.confirmedAs(ctx, name, func(ctx context.Context) (err error) {
		pause, err = s.Session.Resume(ctx, name, r)
		return err
	}); err != nil {
		return nil, err
	}
	_ = s.note(ctx, name, lease.Ruled)
	return pause, nil
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
func (s *Store) Trigger(ctx context.Context, t lease.Trigger) (a lease.Triggered, err error) {
	err = s.confirmedAs(ctx, t.Name, func(ctx context.Context) (err error) {
		a, err = s.Session.Trigger(ctx, t)
		return err
	})
	if err == nil && a.Status == lease.Opened {
		err = s.note(ctx, t.Name, a.Occasion)
	}
	if err != nil {
		return lease.Triggered{}, err
	}
	return a, nil
}
