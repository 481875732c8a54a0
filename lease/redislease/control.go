package redislease

import (
	"context"

	"github.com/solotick/solotick/internal/protocol"
)

// Pause implements [protocol.Store].
func (s *Store) Pause(ctx context.Context, name string, p protocol.Pause) (pause protocol.Pause, err error) {
	if err := s.confirmedAs(ctx, name, func(ctx context.Context) (err error) {
		pause, err = s.Session.Pause(ctx, name, p)
		return err
	}); err != nil {
		return protocol.Pause{}, err
	}
	_ = s.note(ctx, name, protocol.PauseChanged) // claims bring it along, too
	return pause, nil
}

// Resume implements [protocol.Store].
func (s *Store) Resume(ctx context.Context, name string, r protocol.Resume) (pause *protocol.Pause, err error) {
	if err := s.confirmedAs(ctx, name, func(ctx context.Context) (err error) {
		pause, err = s.Session.Resume(ctx, name, r)
		return err
	}); err != nil {
		return nil, err
	}
	_ = s.note(ctx, name, protocol.PauseChanged)
	return pause, nil
}

// Repair implements [protocol.Store].
func (s *Store) Repair(ctx context.Context, q protocol.Repair) (protocol.Repaired, error) {
	repaired, err := s.Session.Repair(ctx, q)
	if err == nil {
		_ = s.note(ctx, q.Name, protocol.PauseChanged) // the next sync shows it, too
	}
	return repaired, err
}

// Trigger implements [protocol.Store].
func (s *Store) Trigger(ctx context.Context, t protocol.Trigger) (a protocol.Triggered, err error) {
	err = s.confirmedAs(ctx, t.Name, func(ctx context.Context) (err error) {
		a, err = s.Session.Trigger(ctx, t)
		return err
	})
	if err == nil && a.Status == protocol.Opened {
		err = s.note(ctx, t.Name, a.Tick)
	}
	if err != nil {
		return protocol.Triggered{}, err
	}
	return a, nil
}

// Remove implements [protocol.Store].
func (s *Store) Remove(ctx context.Context, q protocol.Remove) (a protocol.Removed, err error) {
	if err := s.confirmedAs(ctx, q.Name, func(ctx context.Context) (err error) {
		a, err = s.Session.Remove(ctx, q)
		return err
	}); err != nil {
		return protocol.Removed{}, err
	}
	if a.Status == protocol.RecordRemoved {
		_ = s.note(ctx, q.Name, protocol.PauseChanged) // the next sync makes the record again, too
	}
	return a, nil
}
