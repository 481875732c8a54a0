package redislease

import (
	"context"

	"github.com/solotick/solotick/internal/protocol"
)

// Pause implements [protocol.Store].
func (s *store) Pause(ctx context.Context, name string, p protocol.Pause) (pause protocol.Pause, err error) {
	pause, err = s.Session.Pause(ctx, name, p)
	if err == nil {
		_ = s.note(ctx, name, protocol.PauseChanged) // claims bring it along, too
	}
	return pause, err
}

// Resume implements [protocol.Store].
func (s *store) Resume(ctx context.Context, name string, r protocol.Resume) (pause *protocol.Pause, err error) {
	pause, err = s.Session.Resume(ctx, name, r)
	if err == nil {
		_ = s.note(ctx, name, protocol.PauseChanged)
	}
	return pause, err
}

// Repair implements [protocol.Store].
func (s *store) Repair(ctx context.Context, q protocol.Repair) (protocol.Repaired, error) {
	repaired, err := s.Session.Repair(ctx, q)
	if err == nil {
		_ = s.note(ctx, q.Name, protocol.PauseChanged) // the next sync shows it, too
	}
	return repaired, err
}

// Trigger implements [protocol.Store].
func (s *store) Trigger(ctx context.Context, t protocol.Trigger) (a protocol.Triggered, err error) {
	a, err = s.Session.Trigger(ctx, t)
	if err == nil && a.Status == protocol.Opened {
		err = s.note(ctx, t.Name, a.Tick)
	}
	if err != nil {
		return protocol.Triggered{}, err
	}
	return a, nil
}

// Remove implements [protocol.Store]. A repeated one finds nothing that it could write again to have
// it confirmed, so replicas are asked whether they have that.
func (s *store) Remove(ctx context.Context, q protocol.Remove) (a protocol.Removed, err error) {
	a, err = s.Session.Remove(ctx, q)
	if err == nil && s.abandonedClaims != nil {
		err = s.values.confirm(ctx, q.Name)
	}
	if err != nil {
		return protocol.Removed{}, err
	}
	if a.Status == protocol.RecordRemoved {
		_ = s.note(ctx, q.Name, protocol.PauseChanged) // the next sync makes the record again, too
	}
	return a, nil
}
