package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

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
		err = errors.Join(s.removeJournal(ctx, q.Name), s.removeProgress(ctx, q.Name))
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
