package driver

import (
	"cmp"
	"context"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Pause implements [lease.Controller].
func (s *Session) Pause(ctx context.Context, name string, p lease.Pause) (in lease.Pause, err error) {
	if err := cmp.Or(checkName(name), p.Validate()); err != nil {
		return lease.Pause{}, err
	}
	var answer error
	err = s.one(ctx, "pause", name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			in, answer = r.Pause(p, at)
			return about(answer == nil, name, lease.Ruled)
		}
	})
	if err = cmp.Or(err, answer); err != nil {
		return lease.Pause{}, err
	}
	return in, nil
}

// Resume implements [lease.Controller].
func (s *Session) Resume(ctx context.Context, name string, q lease.Resume) (was *lease.Pause, err error) {
	if err := cmp.Or(checkName(name), q.Validate()); err != nil {
		return nil, err
	}
	var answer error
	err = s.one(ctx, "resume", name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			was, answer = r.Resume(q, at)
			return about(answer == nil, name, lease.Ruled)
		}
	})
	if err = cmp.Or(err, answer); err != nil {
		return nil, err
	}
	return was, nil
}

// Cancel implements [lease.Canceller].
func (s *Session) Cancel(ctx context.Context, c lease.Cancel) (a lease.Cancelled, err error) {
	if err := c.Validate(); err != nil {
		return lease.Cancelled{}, err
	}
	var answer error
	err = s.one(ctx, "cancel", c.Name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			var wake bool
			a, wake, answer = r.Cancel(c, at)
			return about(wake, c.Name, lease.Cancelling)
		}
	})
	return a, cmp.Or(err, answer)
}

// Repair implements [lease.Repairer].
func (s *Session) Repair(ctx context.Context, q lease.Repair) (a lease.Repaired, err error) {
	if err := q.Validate(); err != nil {
		return lease.Repaired{}, err
	}
	results, err := s.look(ctx, new(record.Record), Op{Key: q.Name}, Op{Key: q.Name, Newest: lease.History})
	if err != nil {
		return lease.Repaired{}, failed("repair", q.Name, err)
	}
	settled, err := history(results[1].List, nil)
	if err != nil {
		return lease.Repaired{}, failed("repair", q.Name, err)
	}
	var answer error
	err = s.one(ctx, "repair", q.Name, func(r *record.Record, w *work) {
		w.essential = true
		w.rule = func(at *record.Moment) []Notification {
			r.Recall(settled)
			a, answer = r.Repair(q, at)
			return about(a.Changed, q.Name, lease.Ruled)
		}
	})
	return a, cmp.Or(err, answer)
}

// Trigger implements [lease.Controller].
func (s *Session) Trigger(ctx context.Context, t lease.Trigger) (a lease.Triggered, err error) {
	if err := t.Validate(); err != nil {
		return lease.Triggered{}, err
	}
	var answer error
	err = s.one(ctx, "trigger", t.Name, func(r *record.Record, w *work) {
		w.rule = func(at *record.Moment) []Notification {
			var wake bool
			a, wake, answer = r.Trigger(t, at)
			return about(wake, t.Name, a.Occasion)
		}
	})
	return a, cmp.Or(err, answer)
}
