package memlease

import (
	"cmp"
	"context"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/record"
)

// Append implements [lease.Journal].
func (s *Store) Append(ctx context.Context, name, request string, text []byte) error {
	if err := cmp.Or(lease.CheckNote(name, request, text), context.Cause(ctx)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journals == nil {
		s.journals = make(map[string]*record.Journal)
	}
	if s.journals[name] == nil {
		s.journals[name] = new(record.Journal)
	}
	s.journals[name].Append(request, text, lease.MaxNotes, s.nowLocked())
	return nil
}

// Notes implements [lease.Journal].
func (s *Store) Notes(ctx context.Context, name string, n int) ([]lease.Noted, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.journals[name]; j != nil {
		return j.Notes(n), nil
	}
	return nil, nil
}
