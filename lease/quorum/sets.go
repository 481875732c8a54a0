package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/protocol"
)

// SetNode is a [Node] that keeps sets. Where a node does not, the methods of [protocol.Sets] fail with an error that matches
// [errors.ErrUnsupported].
type SetNode interface {
	Node
	protocol.Sets
}

// onSets calls f for every node, and returns what a majority answers.
func onSets[T any](ctx context.Context, s *Store, verb string, f func(ctx context.Context, n SetNode) (T, error)) ([]T, error) {
	for _, n := range s.registers.list {
		if _, ok := n.(SetNode); !ok {
			return nil, fmt.Errorf("%s: node %s keeps no sets: %w", verb, n, errors.ErrUnsupported)
		}
	}
	answers, err := gather(ctx, s.registers.nodes, func(ctx context.Context, n Node) (T, error) { return f(ctx, n.(SetNode)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return answers, nil
}

// PutSet implements [protocol.Sets]: a majority of the nodes keeps it.
func (s *Store) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if err := protocol.CheckSet(set, life); err != nil {
		return err
	}
	_, err := onSets(ctx, s, "put set", func(ctx context.Context, n SetNode) (struct{}, error) {
		return struct{}{}, n.PutSet(ctx, set, life)
	})
	return err
}

// KeepSets implements [protocol.Sets]. A set counts as kept when every node of the majority that answers keeps it: otherwise
// too few may.
func (s *Store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil || len(digests) == 0 {
		return nil, err
	}
	answers, err := onSets(ctx, s, "keep sets", func(ctx context.Context, n SetNode) ([]bool, error) {
		return n.KeepSets(ctx, digests, life)
	})
	if err != nil {
		return nil, err
	}
	kept := make([]bool, len(digests))
	for i := range kept {
		kept[i] = true
		for _, a := range answers {
			kept[i] = kept[i] && a[i]
		}
	}
	return kept, nil
}

// GetSets implements [protocol.Sets]: a majority is asked, and one node that keeps a set is enough. What is not what its digest
// says counts as not kept.
func (s *Store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil || len(digests) == 0 {
		return nil, err
	}
	answers, err := onSets(ctx, s, "get sets", func(ctx context.Context, n SetNode) ([][]byte, error) {
		return n.GetSets(ctx, digests)
	})
	if err != nil {
		return nil, err
	}
	sets := make([][]byte, len(digests))
	for i, d := range digests {
		for _, a := range answers {
			if a[i] != nil && protocol.SetDigest(a[i]) == d {
				sets[i] = a[i]
			}
		}
	}
	return sets, nil
}
