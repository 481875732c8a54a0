package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease/driver"
)

// checkpointPrefix and a name are the key of the checkpoints of its ticks.
const checkpointPrefix = "checkpoint:"

// Checkpoint implements [protocol.Store].
func (s *Session) Checkpoint(ctx context.Context, list []protocol.Checkpoint) []error {
	answers, ends := make([]error, len(list)), make([]steady.Instant, len(list))
	byName := group(len(list), func(i int) string {
		ends[i] = steady.Now().Add(list[i].Remaining)
		if answers[i] = list[i].Validate(); answers[i] != nil {
			return ""
		}
		return list[i].Name
	})
	put := func(name string, open func(int64) bool) *work {
		state, parts := new(record.Checkpoints), byName[name]
		w := &work{key: checkpointPrefix + name, state: state}
		w.essential = !slices.ContainsFunc(parts, func(i int) bool { return !list[i].Clear })
		w.rule = func(at *record.Moment) []driver.Notification {
			for _, i := range parts {
				answers[i] = state.Put(list[i], w.now.Add(steady.Now().Until(ends[i])), open, at)
			}
			w.removes = len(state.List) == 0
			return nil
		}
		return w
	}
	answer := func(name string, err error) {
		for _, i := range byName[name] {
			if err != nil {
				answers[i] = failed("checkpoint", name, err)
			}
		}
	}
	var works []*work
	for name := range byName {
		works = append(works, put(name, nil))
	}
	for batch := range slices.Chunk(works, most) {
		s.apply(ctx, batch...)
	}
	for _, w := range works {
		name := name(w.key)
		answer(name, w.err)
		full := func(i int) bool { return errors.Is(answers[i], protocol.ErrCheckpoints) }
		if w.err != nil || !slices.ContainsFunc(byName[name], full) {
			continue
		}
		r := new(record.Record)
		if _, err := s.look(ctx, r, driver.Op{Key: name}); err != nil {
			answer(name, err)
			continue
		}
		again := put(name, func(tick int64) bool {
			return slices.ContainsFunc(r.Open, func(e record.Entry) bool { return e.Tick == tick })
		})
		s.apply(ctx, again)
		answer(name, again.err)
	}
	return answers
}

// Checkpoints implements [protocol.Store].
func (s *Session) Checkpoints(ctx context.Context, name string) ([]protocol.Checkpoint, error) {
	if err := checkRecord(name); err != nil {
		return nil, err
	}
	state := new(record.Checkpoints)
	_, err := s.look(ctx, state, driver.Op{Key: checkpointPrefix + name})
	return state.List, failed("read the checkpoints of", name, err)
}

// removeCheckpoints removes those of a name whose record is removed.
func (s *Session) removeCheckpoints(ctx context.Context, name string) error {
	w := &work{key: checkpointPrefix + name, state: new(record.Checkpoints), essential: true, removes: true}
	w.rule = func(*record.Moment) []driver.Notification { return nil }
	s.apply(ctx, w)
	return failed("remove the checkpoints of", name, w.err)
}
