package quorum

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// Pause implements [protocol.Controller].
func (s *Store) Pause(ctx context.Context, name string, p protocol.Pause) (in protocol.Pause, err error) {
	if err := cmp.Or(checkName(name), p.Validate()); err != nil {
		return protocol.Pause{}, err
	}
	var answer error
	err = s.one(ctx, "pause", name, look, false, func(r *record.Record, now time.Time) func() {
		pause, said := r.Pause(p, record.At(now))
		return func() {
			in, answer = pause, said
			s.tell(said == nil, name, protocol.Ruled)
		}
	})
	return in, cmp.Or(err, answer)
}

// Resume implements [protocol.Controller].
func (s *Store) Resume(ctx context.Context, name string, q protocol.Resume) (was *protocol.Pause, err error) {
	if err := cmp.Or(checkName(name), q.Validate()); err != nil {
		return nil, err
	}
	var answer error
	err = s.one(ctx, "resume", name, look, false, func(r *record.Record, now time.Time) func() {
		pause, said := r.Resume(q, record.At(now))
		return func() {
			was, answer = pause, said
			s.tell(said == nil, name, protocol.Ruled)
		}
	})
	return was, cmp.Or(err, answer)
}

// Cancel implements [protocol.Canceller].
func (s *Store) Cancel(ctx context.Context, c protocol.Cancel) (a protocol.Cancelled, err error) {
	if err := c.Validate(); err != nil {
		return protocol.Cancelled{}, err
	}
	var answer error
	err = s.one(ctx, "cancel", c.Name, look, false, func(r *record.Record, now time.Time) func() {
		undo := extended(r, now)
		said, wake, fault := r.Cancel(c, record.At(now))
		undo()
		return func() {
			a, answer = said, fault
			s.tell(wake, c.Name, protocol.Cancelling)
		}
	})
	return a, cmp.Or(err, answer)
}

// Repair implements [protocol.Repairer].
func (s *Store) Repair(ctx context.Context, q protocol.Repair) (a protocol.Repaired, err error) {
	if err := q.Validate(); err != nil {
		return protocol.Repaired{}, err
	}
	var answer error
	err = s.one(ctx, "repair", q.Name, look, false, func(r *record.Record, now time.Time) func() {
		repaired, fault := r.Repair(q, record.At(now))
		return func() {
			a, answer = repaired, fault
			s.tell(repaired.Changed, q.Name, protocol.Ruled)
		}
	})
	return a, cmp.Or(err, answer)
}

// Trigger implements [protocol.Controller].
func (s *Store) Trigger(ctx context.Context, t protocol.Trigger) (a protocol.Triggered, err error) {
	if err := t.Validate(); err != nil {
		return protocol.Triggered{}, err
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
	if !protocol.ValidName(name) {
		return fmt.Errorf("quorum: name %q %s", name, protocol.NameRule)
	}
	return nil
}
