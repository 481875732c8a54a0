package quorum

import (
	"context"
	"errors"
	"slices"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/quorumnode"
)

// Store is a lease.Store on a majority of independent nodes. Its members and sets are
// those of its nodes. It is safe for concurrent use. Close it when it is no longer used.
type Store struct{ *store }

// store has the verbs.
type store struct {
	*engine.Session
	values *values
}

// Check implements [protocol.Store]. That a minority of nodes fails is no fault.
func (s *store) Check(ctx context.Context) error { return protocol.Check(ctx, s) }

// hint returns what the first node says that knows what to change.
func (v *values) hint(err error) string {
	var few *MajorityError
	switch {
	case errors.Is(err, errClosed):
		return "close the store when everything that uses it has ended"
	case errors.Is(err, ErrFormat):
		return "use another namespace, or stop all replicas and delete the namespace's keys on every node"
	case errors.Is(err, ErrRestarted):
		return "wait: a node counts when it has remembered the namespace for the longest TTL, half a minute unless WithTTL says otherwise, as it may have forgotten leases; WithFreshStart does without that, at the first start ever"
	case !errors.As(err, &few):
		return ""
	}
	for _, n := range v.list {
		for _, cause := range few.Causes {
			if h, ok := n.(interface{ Hint(err error) string }); ok && h.Hint(cause) != "" {
				return h.Hint(cause)
			}
		}
	}
	return ""
}

// Close ends the pending calls of the nodes and waits for them. Calls fail with an error that
// matches lease.ErrPermanent from then on. The nodes are the caller's, and stay open.
func (s *Store) Close() error {
	s.values.close()
	return nil
}

// Warnings implements [protocol.Store]: it returns what the nodes return, each warning once.
func (s *store) Warnings(ctx context.Context) (warnings []protocol.Warning) {
	for _, node := range s.values.nodes.list {
		n, ok := node.(interface {
			Warnings(ctx context.Context) []protocol.Warning
		})
		if !ok {
			continue
		}
		for _, w := range n.Warnings(ctx) {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings
}

// Node is one of the independent servers: redislease.NewNode makes one.
type Node = quorumnode.Node
