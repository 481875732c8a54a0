package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

// Inspect implements [protocol.Store].
func (s *Session) Inspect(ctx context.Context, name string) (protocol.Record, error) {
	if err := checkRecord(name); err != nil {
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

// checkRecord checks the name of a record, which may be that of a stored schedule.
func checkRecord(name string) error {
	if !protocol.ValidRecord(name) {
		return fmt.Errorf("name %q %s", name, protocol.NameRule)
	}
	return nil
}

// Names implements [protocol.Store].
func (s *Session) Names(ctx context.Context, cursor string, count int) (names []string, next string, err error) {
	keys, next, err := s.medium().Scan(ctx, "", cursor, max(count, 1))
	if err != nil {
		return nil, "", fmt.Errorf("names: %w", err)
	}
	for _, key := range keys {
		if protocol.ValidName(key) { // else it is a lock or a journal
			names = append(names, key)
		}
	}
	return names, next, nil
}

// Summarize implements [protocol.Store]. It reads the beginnings of values, and the few whole
// of which that is not enough.
func (s *Session) Summarize(ctx context.Context, names []string) ([]protocol.Summary, error) {
	if err := protocol.CheckNames(names); err != nil {
		return nil, err
	}
	list := make([]protocol.Summary, len(names))
	all := make([]int, len(names))
	for i := range all {
		all[i] = i
	}
	rest, err := s.summarize(ctx, names, all, record.SummarySize, list)
	if err == nil && len(rest) > 0 {
		_, err = s.summarize(ctx, names, rest, 0, list)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// summarize fills in the summaries of the names at these places from so many of the first bytes of
// their values; 0: from all. It returns the places of those of which that is not enough.
func (s *Session) summarize(ctx context.Context, names []string, places []int, size int, list []protocol.Summary) (rest []int, err error) {
	ops := make([]driver.Op, len(places))
	for i, place := range places {
		ops[i] = driver.Op{Key: names[place], First: size}
	}
	for i, res := range s.medium().Do(ctx, ops) {
		place, v := places[i], res.Value
		name := names[place]
		if res.Err != nil {
			return nil, failed("summarize", name, res.Err)
		}
		list[place].Name = name
		if v.Version == (driver.Version{}) {
			continue
		}
		summary, complete, err := record.Summarize(name, v.Data, v.Version.Stamp, endsOf(&v), record.At(res.Now))
		switch {
		case err == nil && !complete && size == 0:
			err = fmt.Errorf("%w: %s", protocol.ErrRecord, name)
		case err == nil && !complete:
			rest = append(rest, place)
		}
		if err != nil {
			return nil, fmt.Errorf("summarize: %w", err)
		}
		list[place] = summary
	}
	return rest, nil
}

// endsOf returns a function that looks up when the lease with a token ends: the zero time when v
// has none.
func endsOf(v *driver.Value) func(token int64) time.Time {
	return func(token int64) time.Time {
		for _, l := range v.Leases {
			if l.Token == token {
				return l.Ends
			}
		}
		return time.Time{}
	}
}
