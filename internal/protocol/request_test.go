package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

func TestRequestsDifferFromThoseOfAnEarlierProcess(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		r := protocol.NewRequest()
		require.True(t, protocol.ValidName(r), r)
		require.False(t, seen[r])
		seen[r] = true
		require.Greater(t, len(r), 8, "%s: no part of it is random", r)
	}
}
