package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/lease/driver"
)

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
