package driver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Inspect implements [lease.Inspector].
func (s *Session) Inspect(ctx context.Context, name string) (lease.Record, error) {
	if err := checkName(name); err != nil {
		return lease.Record{}, err
	}
	r := new(record.Record)
	results, err := s.look(ctx, r, Op{Key: name}, Op{Key: name, Newest: lease.History})
	if err != nil {
		return lease.Record{}, failed("inspect", name, err)
	}
	v := r.View(name, record.At(results[0].Now))
	v.Settled, err = history(results[1].List, v.Settled)
	return v, failed("inspect", name, err)
}

// look carries out reads of one key, and decodes the value of the first.
func (s *Session) look(ctx context.Context, state record.State, ops ...Op) ([]Result, error) {
	results := s.medium().Do(ctx, ops)
	for _, res := range results {
		if res.Err != nil {
			return nil, res.Err
		}
	}
	v := results[0].Value
	s.clock.set(results[0].Now)
	err := state.Decode(name(ops[0].Key), v.Data, v.Version.Stamp, func(token int64) time.Time {
		for _, l := range v.Leases {
			if l.Token == token {
				return l.Ends
			}
		}
		return time.Time{}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", lease.ErrRecord, ops[0].Key, err)
	}
	return results, nil
}

// history is what the list of a record says, and then what only the record itself remembers; oldest first.
func history(list []Entry, recent []lease.Settled) ([]lease.Settled, error) {
	all := make([]lease.Settled, 0, len(list)+len(recent))
	for _, e := range slices.Backward(list) {
		settled, err := record.DecodeSettled(e.Text)
		if err != nil {
			return nil, fmt.Errorf("%w: history: %w", lease.ErrRecord, err)
		}
		all = append(all, settled)
	}
	for _, r := range recent {
		if !slices.ContainsFunc(all, func(s lease.Settled) bool {
			return s.Occasion == r.Occasion && s.Token == r.Token && s.From == r.From
		}) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// Watch implements [lease.Watcher].
func (s *Session) Watch(ctx context.Context, wake func(name string, tick int64)) error {
	return s.medium().Subscribe(ctx, func(n Notification) {
		if n.Waiters == nil {
			wake(n.Name, n.Tick)
		}
	})
}

// Append implements [lease.Journal].
func (s *Session) Append(ctx context.Context, name, request string, text []byte) error {
	if err := lease.CheckNote(name, request, text); err != nil {
		return err
	}
	entry := Entry{ID: request, Text: slices.Clone(text), Max: lease.MaxNotes}
	res := s.medium().Do(ctx, []Op{{Key: journalPrefix + name, Append: []Entry{entry}}})[0]
	return failed("append to the journal of", name, res.Err)
}

// Notes implements [lease.Journal].
func (s *Session) Notes(ctx context.Context, name string, n int) ([]lease.Noted, error) {
	if n < 1 || n > lease.MaxNotes {
		n = lease.MaxNotes
	}
	res := s.medium().Do(ctx, []Op{{Key: journalPrefix + name, Newest: n}})[0]
	var notes []lease.Noted
	for _, e := range res.List {
		notes = append(notes, lease.Noted{At: e.At.UTC().Truncate(time.Microsecond), Request: e.ID, Text: e.Text})
	}
	return notes, failed("read the journal of", name, res.Err)
}

func checkName(name string) error {
	if !lease.ValidName(name) {
		return fmt.Errorf("name %q %s", name, lease.NameRule)
	}
	return nil
}
