package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// Names implements [protocol.Summarizer].
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

// Summarize implements [protocol.Summarizer]. It reads the values alone, which remember what was settled last.
func (s *Session) Summarize(ctx context.Context, names []string) ([]protocol.Summary, error) {
	if err := protocol.CheckNames(names); err != nil {
		return nil, err
	}
	ops := make([]Op, len(names))
	for i, name := range names {
		ops[i].Key = name
	}
	list := make([]protocol.Summary, len(names))
	for i, res := range s.medium().Do(ctx, ops) {
		name := names[i]
		if res.Err != nil {
			return nil, failed("summarize", name, res.Err)
		}
		list[i].Name = name
		if res.Value.Version == (Version{}) {
			continue
		}
		r := new(record.Record)
		if err := r.Decode(name, res.Value.Data, res.Value.Version.Stamp, res.Value.endOf); err != nil {
			return nil, fmt.Errorf("summarize: %w: %s: %w", protocol.ErrRecord, name, err)
		}
		list[i] = protocol.Summarize(r.View(name, record.At(res.Now)))
	}
	return list, nil
}

// endOf returns when a lease on a part of the value ends; the zero time when there is none with that token.
func (v *Value) endOf(token int64) time.Time {
	for _, l := range v.Leases {
		if l.Token == token {
			return l.Ends
		}
	}
	return time.Time{}
}
