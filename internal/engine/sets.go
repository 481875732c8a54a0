package engine

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// setPrefix and a digest are the key of a set, which has a lease for as long as it is kept.
const (
	setPrefix = "set:"
	setHolder = "set"
	leastKept = 24 * time.Hour // also of a set whose life was short at first: a renewal does not lengthen it
)

// PutSet implements [protocol.Store].
func (s *Session) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if err := protocol.CheckSet(set, life); err != nil {
		return err
	}
	key := setPrefix + protocol.SetDigest(set)
	for try := 0; ; try++ {
		s.pause(ctx, try)
		results, err := s.doAll(ctx, driver.Op{Key: key})
		if err == nil {
			v := results[0].Value
			op := driver.Op{Key: key, Change: &driver.Change{
				From: v.Version, ID: s.nextID(), Data: bytes.Clone(set), Leases: []driver.NewLease{{Holder: setHolder, TTL: life}}, Drop: tokensOf(v), Keep: max(life, leastKept),
			}}
			if bytes.Equal(v.Data, set) && len(v.Leases) > 0 { // others have put it
				op = driver.Op{Key: key, Renew: &driver.Renewal{Token: v.Leases[0].Token, Holder: setHolder, TTL: life}}
			}
			results, err = s.doAll(ctx, op)
		}
		if err != nil {
			return fmt.Errorf("put a set: %w", err)
		}
		if results[0].Status == driver.Done {
			return nil
		}
	}
}

func tokensOf(v driver.Value) (tokens []int64) {
	for _, l := range v.Leases {
		tokens = append(tokens, l.Token)
	}
	return tokens
}

// KeepSets implements [protocol.Store].
func (s *Session) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil {
		return nil, err
	}
	values, err := s.readSets(ctx, digests, 1)
	if err != nil {
		return nil, fmt.Errorf("keep sets: %w", err)
	}
	kept := make([]bool, len(digests))
	var ops []driver.Op
	var places []int
	for i, v := range values {
		if len(v.Leases) > 0 {
			ops = append(ops, driver.Op{Key: setPrefix + digests[i], Renew: &driver.Renewal{Token: v.Leases[0].Token, Holder: setHolder, TTL: life}})
			places = append(places, i)
		}
	}
	results, err := s.doAll(ctx, ops...)
	if err != nil {
		return nil, fmt.Errorf("keep sets: %w", err)
	}
	for i, res := range results {
		kept[places[i]] = res.Status == driver.Done
	}
	return kept, nil
}

// GetSets implements [protocol.Store].
func (s *Session) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil {
		return nil, err
	}
	values, err := s.readSets(ctx, digests, 0)
	if err != nil {
		return nil, fmt.Errorf("get sets: %w", err)
	}
	sets := make([][]byte, len(digests))
	for i, v := range values {
		if len(v.Leases) > 0 && protocol.SetDigest(v.Data) == digests[i] {
			sets[i] = bytes.Clone(v.Data)
		}
	}
	return sets, nil
}

// readSets returns the values of sets, or so many of their first bytes; the zero Value of those
// whose life has ended.
func (s *Session) readSets(ctx context.Context, digests []string, first int) ([]driver.Value, error) {
	ops := make([]driver.Op, len(digests))
	for i, d := range digests {
		ops[i] = driver.Op{Key: setPrefix + d, First: first}
	}
	results, err := s.doAll(ctx, ops...)
	values := make([]driver.Value, len(results))
	for i, res := range results {
		if l := res.Value.Leases; len(l) > 0 && l[0].Ends.After(res.Now) {
			values[i] = res.Value
		}
	}
	return values, err
}
