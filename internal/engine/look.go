package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// Inspect implements [protocol.Store].
func (s *Session) Inspect(ctx context.Context, name string) (protocol.Record, error) {
	if err := checkName(name); err != nil {
		return protocol.Record{}, err
	}
	r := new(record.Record)
	results, err := s.look(ctx, r, driver.Op{Key: name}, driver.Op{Key: name, Newest: protocol.MaxHistory})
	if err != nil {
		return protocol.Record{}, failed("inspect", name, err)
	}
	v := r.View(name, record.At(results[0].Now))
	v.Settled, err = history(results[1].List, v.Settled)
	v.Settled = v.Settled[max(0, len(v.Settled)-v.Policy.Kept()):]
	return v, failed("inspect", name, err)
}

// look reads one key, and decodes the value of the first operation.
func (s *Session) look(ctx context.Context, state record.State, ops ...driver.Op) ([]driver.Result, error) {
	results := s.medium().Do(ctx, ops)
	for _, res := range results {
		if res.Err != nil {
			return nil, res.Err
		}
	}
	return results, s.decodeTo(state, ops[0].Key, results[0])
}

// decodeTo makes the state that of a value which was read.
func (s *Session) decodeTo(state record.State, key string, res driver.Result) error {
	s.clock.set(res.Now)
	if err := state.Decode(name(key), res.Value.Data, res.Value.Version.Stamp, endsOf(&res.Value)); err != nil {
		return fmt.Errorf("%w: %s: %w", protocol.ErrRecord, key, err)
	}
	return nil
}

// history returns the list of a record, and then the ticks that only the record itself remembers;
// oldest first.
func history(list []driver.Entry, recent []protocol.Settled) ([]protocol.Settled, error) {
	all := make([]protocol.Settled, 0, len(list)+len(recent))
	for _, e := range slices.Backward(list) {
		settled, err := record.DecodeSettled(e.Text)
		if err != nil {
			return nil, fmt.Errorf("%w: history: %w", protocol.ErrRecord, err)
		}
		all = append(all, settled)
	}
	for _, r := range recent {
		if !slices.ContainsFunc(all, func(s protocol.Settled) bool {
			return s.Tick == r.Tick && s.Token == r.Token && s.From == r.From
		}) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// Watch implements [protocol.Store].
func (s *Session) Watch(ctx context.Context, wake func(name string, tick int64)) error {
	return s.medium().Subscribe(ctx, func(n driver.Notification) {
		if n.Waiters == nil && n.Message == nil {
			wake(n.Name, n.Tick)
		}
	})
}

// Append implements [protocol.Store].
func (s *Session) Append(ctx context.Context, name, request string, text []byte) error {
	if err := protocol.CheckNote(name, request, text); err != nil {
		return err
	}
	entry := driver.Entry{ID: request, Text: slices.Clone(text), Max: protocol.MaxNotes}
	res := s.medium().Do(ctx, []driver.Op{{Key: journalPrefix + name, Append: []driver.Entry{entry}}})[0]
	return failed("append to the journal of", name, res.Err)
}

// Notes implements [protocol.Store].
func (s *Session) Notes(ctx context.Context, name string, n int) ([]protocol.JournalEntry, error) {
	if n < 1 || n > protocol.MaxNotes {
		n = protocol.MaxNotes
	}
	res := s.medium().Do(ctx, []driver.Op{{Key: journalPrefix + name, Newest: n}})[0]
	var notes []protocol.JournalEntry
	for _, e := range res.List {
		notes = append(notes, entryOf(e))
	}
	return notes, failed("read the journal of", name, res.Err)
}

func checkName(name string) error {
	if !protocol.ValidName(name) {
		return fmt.Errorf("name %q %s", name, protocol.NameRule)
	}
	return nil
}
