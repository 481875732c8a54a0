package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// act is a request about a name, such as a pause or a trigger.
type act struct {
	essential bool
	rule      func(r *record.Record, at *record.Moment) (notify []driver.Notification, affirms bool)
}

// do applies a rule to the record of name and returns its answer. If the rule has changed
// something, do publishes its tick. Acts of this process on one name that arrive together are made
// in one change.
func do[A any](ctx context.Context, s *Session, what, name string, essential bool, rule func(r *record.Record, at *record.Moment) (a A, tick int64, changed bool, err error)) (A, error) {
	var result struct {
		answer A
		tick   int64
		err    error
	}
	_, err := s.acts.ask(ctx, s, name, act{essential, func(r *record.Record, at *record.Moment) ([]driver.Notification, bool) {
		var changed bool
		result.answer, result.tick, changed, result.err = rule(r, at)
		return about(changed, name, result.tick), result.err == nil
	}}, func(ctx context.Context, acts []act) ([]struct{}, error) {
		w := workOn(name)
		defer w.free()
		for _, a := range acts {
			w.essential = w.essential || a.essential
		}
		w.rule = func(at *record.Moment) (notify []driver.Notification) {
			w.affirms = false
			for _, a := range acts {
				its, affirms := a.rule(&w.record, at)
				notify, w.affirms = append(notify, its...), w.affirms || affirms
			}
			return notify
		}
		s.apply(ctx, &w.work)
		return make([]struct{}, len(acts)), w.err
	})
	if err == nil { // else without a look at the result: the batch may go on for others
		if result.err != nil {
			return result.answer, result.err
		}
		err = s.note(ctx, name, result.tick)
	}
	if err != nil {
		var none A
		return none, failed(what, name, err)
	}
	return result.answer, nil
}

// note takes down what was asked for about a name, if anything.
func (s *Session) note(ctx context.Context, name string, tick int64) error {
	if s.options.Note == nil || tick == 0 {
		return nil
	}
	return s.options.Note(ctx, name, tick)
}

// Pause implements [protocol.Store].
func (s *Session) Pause(ctx context.Context, name string, p protocol.Pause) (in protocol.Pause, err error) {
	if err := cmp.Or(checkRecord(name), p.Validate()); err != nil {
		return protocol.Pause{}, err
	}
	return do(ctx, s, "pause", name, true, func(r *record.Record, at *record.Moment) (in protocol.Pause, tick int64, changed bool, err error) {
		in, err = r.Pause(p, at)
		return in, protocol.PauseChanged, err == nil, err
	})
}

// Resume implements [protocol.Store].
func (s *Session) Resume(ctx context.Context, name string, q protocol.Resume) (was *protocol.Pause, err error) {
	if err := cmp.Or(checkRecord(name), q.Validate()); err != nil {
		return nil, err
	}
	return do(ctx, s, "resume", name, true, func(r *record.Record, at *record.Moment) (was *protocol.Pause, tick int64, changed bool, err error) {
		was, err = r.Resume(q, at)
		return was, protocol.PauseChanged, err == nil, err
	})
}

// Cancel implements [protocol.Store].
func (s *Session) Cancel(ctx context.Context, c protocol.Cancel) (protocol.Cancelled, error) {
	if err := c.Validate(); err != nil {
		return protocol.Cancelled{}, err
	}
	return do(ctx, s, "cancel", c.Name, true, func(r *record.Record, at *record.Moment) (a protocol.Cancelled, tick int64, changed bool, err error) {
		a, changed, err = r.Cancel(c, at)
		return a, protocol.Cancelling, changed, err
	})
}

// Trigger implements [protocol.Store].
func (s *Session) Trigger(ctx context.Context, t protocol.Trigger) (protocol.Triggered, error) {
	if err := t.Validate(); err != nil {
		return protocol.Triggered{}, err
	}
	return do(ctx, s, "trigger", t.Name, false, func(r *record.Record, at *record.Moment) (a protocol.Triggered, tick int64, changed bool, err error) {
		a, changed, err = r.Trigger(t, at)
		if a.Status == protocol.Opened {
			tick = a.Tick
		}
		return a, tick, changed, err
	})
}

// Repair implements [protocol.Store].
func (s *Session) Repair(ctx context.Context, q protocol.Repair) (a protocol.Repaired, err error) {
	if err := q.Validate(); err != nil {
		return protocol.Repaired{}, err
	}
	results, err := s.look(ctx, new(record.Record), driver.Op{Key: q.Name}, driver.Op{Key: q.Name, Newest: protocol.MaxHistory})
	if err != nil {
		return protocol.Repaired{}, failed("repair", q.Name, err)
	}
	settled, err := history(results[1].List, nil)
	if err != nil {
		return protocol.Repaired{}, failed("repair", q.Name, err)
	}
	w := workOn(q.Name)
	defer w.free()
	w.essential = true
	w.rule = func(at *record.Moment) []driver.Notification {
		w.record.Recall(settled)
		a, w.refused = w.record.Repair(q, at)
		w.affirms = w.refused == nil && a.Changed
		return about(a.Changed, q.Name, protocol.PauseChanged)
	}
	if err = cmp.Or(s.one(ctx, "repair", w), w.refused); err == nil {
		err = s.note(ctx, q.Name, protocol.PauseChanged)
	}
	return a, err
}

// Remove implements [protocol.Store].
func (s *Session) Remove(ctx context.Context, q protocol.Remove) (a protocol.Removed, err error) {
	if err := q.Validate(); err != nil {
		return protocol.Removed{}, err
	}
	w := workOn(q.Name)
	defer w.free()
	w.essential = true
	w.rule = func(at *record.Moment) []driver.Notification {
		a, w.refused = w.record.Remove(q, at)
		w.removes = a.Status == protocol.RecordRemoved
		return about(w.removes, q.Name, protocol.PauseChanged)
	}
	if err = cmp.Or(s.one(ctx, "remove", w), w.refused); err != nil {
		return protocol.Removed{}, err
	}
	if a.Status == protocol.RecordRemoved || a.Status == protocol.RecordAbsent { // perhaps an earlier try came only so far
		err = errors.Join(s.removeJournal(ctx, q.Name), s.removeProgress(ctx, q.Name), s.removeCheckpoints(ctx, q.Name))
	}
	if err == nil && a.Status == protocol.RecordRemoved {
		err = s.note(ctx, q.Name, protocol.PauseChanged)
	}
	return a, err
}

// removeJournal removes a list that has no value beside it.
func (s *Session) removeJournal(ctx context.Context, name string) error {
	op := driver.Op{Key: journalPrefix + name, Change: &driver.Change{ID: s.nextID(), Essential: true}}
	return failed("remove the journal of", name, s.medium().Do(ctx, []driver.Op{op})[0].Err)
}
