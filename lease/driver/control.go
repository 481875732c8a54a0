package driver

import (
	"cmp"
	"context"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

// Pause implements [protocol.Store].
func (s *Session) Pause(ctx context.Context, name string, p protocol.Pause) (in protocol.Pause, err error) {
	if err := cmp.Or(checkName(name), p.Validate()); err != nil {
		return protocol.Pause{}, err
	}
	var answer error
	err = s.one(ctx, "pause", name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			in, answer = r.Pause(p, at)
			w.affirms = answer == nil
			return about(answer == nil, name, protocol.PauseChanged)
		}
	})
	if err = cmp.Or(err, answer); err != nil {
		return protocol.Pause{}, err
	}
	return in, nil
}

// Resume implements [protocol.Store].
func (s *Session) Resume(ctx context.Context, name string, q protocol.Resume) (was *protocol.Pause, err error) {
	if err := cmp.Or(checkName(name), q.Validate()); err != nil {
		return nil, err
	}
	var answer error
	err = s.one(ctx, "resume", name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			was, answer = r.Resume(q, at)
			w.affirms = answer == nil
			return about(answer == nil, name, protocol.PauseChanged)
		}
	})
	if err = cmp.Or(err, answer); err != nil {
		return nil, err
	}
	return was, nil
}

// Cancel implements [protocol.Store].
func (s *Session) Cancel(ctx context.Context, c protocol.Cancel) (a protocol.Cancelled, err error) {
	if err := c.Validate(); err != nil {
		return protocol.Cancelled{}, err
	}
	var answer error
	err = s.one(ctx, "cancel", c.Name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			var wake bool
			a, wake, answer = r.Cancel(c, at)
			w.affirms = answer == nil
			return about(wake, c.Name, protocol.Cancelling)
		}
	})
	return a, cmp.Or(err, answer)
}

// Repair implements [protocol.Store].
func (s *Session) Repair(ctx context.Context, q protocol.Repair) (a protocol.Repaired, err error) {
	if err := q.Validate(); err != nil {
		return protocol.Repaired{}, err
	}
	results, err := s.look(ctx, new(record.Record), Op{Key: q.Name}, Op{Key: q.Name, Newest: protocol.MaxHistory})
	if err != nil {
		return protocol.Repaired{}, failed("repair", q.Name, err)
	}
	settled, err := history(results[1].List, nil)
	if err != nil {
		return protocol.Repaired{}, failed("repair", q.Name, err)
	}
	var answer error
	err = s.one(ctx, "repair", q.Name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			r.Recall(settled)
			a, answer = r.Repair(q, at)
			w.affirms = answer == nil && a.Changed
			return about(a.Changed, q.Name, protocol.PauseChanged)
		}
	})
	return a, cmp.Or(err, answer)
}

// Trigger implements [protocol.Store].
func (s *Session) Trigger(ctx context.Context, t protocol.Trigger) (a protocol.Triggered, err error) {
	if err := t.Validate(); err != nil {
		return protocol.Triggered{}, err
	}
	var answer error
	err = s.one(ctx, "trigger", t.Name, func(r *record.Record, w *work) {
		w.rule = func(at *record.Moment) []Notification {
			var wake bool
			a, wake, answer = r.Trigger(t, at)
			w.affirms = answer == nil
			return about(wake, t.Name, a.Tick)
		}
	})
	return a, cmp.Or(err, answer)
}
