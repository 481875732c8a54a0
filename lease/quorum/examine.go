package quorum

import (
	"context"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
)

// Examine implements [protocol.Examiner]: it returns what the nodes return, each warning once.
func (s *Store) Examine(ctx context.Context) (warnings []protocol.Warning) {
	for _, node := range s.values.nodes.list {
		n, ok := node.(interface {
			Examine(ctx context.Context) []protocol.Warning
		})
		if !ok {
			continue
		}
		for _, w := range n.Examine(ctx) {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings
}
