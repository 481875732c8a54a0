package quorum

import (
	"context"
	"slices"

	"github.com/solotick/solotick/internal/protocol"
)

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
