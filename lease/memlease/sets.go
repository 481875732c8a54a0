package memlease

import (
	"bytes"
	"context"
	"maps"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// set is kept under a digest.
type set struct {
	content []byte
	ends    time.Time // of its life
}

// PutSet implements [protocol.Sets].
func (s *Store) PutSet(ctx context.Context, content []byte, life time.Duration) error {
	if err := protocol.CheckSet(content, life); err != nil {
		return err
	}
	now, _, err := s.Memory().Time(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.sets, func(_ string, kept set) bool { return !kept.ends.After(now) })
	if s.sets == nil {
		s.sets = make(map[string]set)
	}
	s.sets[protocol.SetDigest(content)] = set{bytes.Clone(content), now.Add(life)}
	return nil
}

// KeepSets implements [protocol.Sets].
func (s *Store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil {
		return nil, err
	}
	now, _, err := s.Memory().Time(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]bool, len(digests))
	for i, d := range digests {
		if known, ok := s.sets[d]; ok && known.ends.After(now) {
			s.sets[d] = set{known.content, now.Add(life)}
			kept[i] = true
		}
	}
	return kept, nil
}

// GetSets implements [protocol.Sets].
func (s *Store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil {
		return nil, err
	}
	now, _, err := s.Memory().Time(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([][]byte, len(digests))
	for i, d := range digests {
		if known, ok := s.sets[d]; ok && known.ends.After(now) {
			list[i] = bytes.Clone(known.content)
		}
	}
	return list, nil
}
