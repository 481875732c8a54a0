package quorum

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Pause implements [lease.Controller].
func (s *Store) Pause(ctx context.Context, name string, p lease.Pause) (in lease.Pause, err error) {
	if err := cmp.Or(checkName(name), p.Validate()); err != nil {
		return lease.Pause{}, err
	}
	var answer error
	err = s.one(ctx, "pause", name, look, false, func(r *record.Record, now time.Time) func() {
		pause, said := r.Pause(p, record.At(now))
		return func() {
			in, answer = pause, said
			s.tell(said == nil, name, lease.Ruled)
		}
	})
	return in, cmp.Or(err, answer)
}

// Resume implements [lease.Controller].
func (s *Store) Resume(ctx context.Context, name string, q lease.Resume) (was *lease.Pause, err error) {
	if err := cmp.Or(checkName(name), q.Validate()); err != nil {
		return nil, err
	}
	var answer error
	err = s.one(ctx, "resume", name, look, false, func(r *record.Record, now time.Time) func() {
		pause, said := r.Resume(q, record.At(now))
		return func() {
			was, answer = pause, said
			s.tell(said == nil, name, lease.Ruled)
		}
	})
	return was, cmp.Or(err, answer)
}

// Cancel implements [lease.Canceller].
func (s *Store) Cancel(ctx context.Context, c lease.Cancel) (a lease.Cancelled, err error) {
	if err := c.Validate(); err != nil {
		return lease.Cancelled{}, err
	}
	var answer error
	err = s.one(ctx, "cancel", c.Name, look, false, func(r *record.Record, now time.Time) func() {
		undo := extended(r, now)
		said, wake, fault := r.Cancel(c, record.At(now))
		undo()
		return func() {
			a, answer = said, fault
			s.tell(wake, c.Name, lease.Cancelling)
		}
	})
	return a, cmp.Or(err, answer)
}

// Repair implements [lease.Repairer].
func (s *Store) Repair(ctx context.Context, q lease.Repair) (a lease.Repaired, err error) {
	if err := q.Validate(); err != nil {
		return lease.Repaired{}, err
	}
	var answer error
	err = s.one(ctx, "repair", q.Name, look, false, func(r *record.Record, now time.Time) func() {
		repaired, fault := r.Repair(q, record.At(now))
		return func() {
			a, answer = repaired, fault
			s.tell(repaired.Changed, q.Name, lease.Ruled)
		}
	})
	return a, cmp.Or(err, answer)
}

// Trigger implements [lease.Controller].
func (s *Store) Trigger(ctx context.Context, t lease.Trigger) (a lease.Triggered, err error) {
	if err := t.Validate(); err != nil {
		return lease.Triggered{}, err
	}
	var answer error
	err = s.one(ctx, "trigger", t.Name, above, true, func(r *record.Record, now time.Time) func() {
		said, wake, fault := r.Trigger(t, record.At(now))
		return func() {
			a, answer = said, fault
			s.tell(wake, t.Name, said.Occasion)
		}
	})
	return a, cmp.Or(err, answer)
}

func checkName(name string) error {
	if !lease.ValidName(name) {
		return fmt.Errorf("quorum: name %q %s", name, lease.NameRule)
	}
	return nil
}
