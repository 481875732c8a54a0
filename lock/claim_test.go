package lock

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/memlease"
)

func TestTokensThatAreRememberedAreBounded(t *testing.T) {
	s := New(new(memlease.Store))
	defer s.Close()
	for i := range 2 * maxTokens {
		s.remember(fmt.Sprint(i), 7)
		s.remember(fmt.Sprint(i), 3) // an answer that came late
		require.Equal(t, int64(7), s.tokens[fmt.Sprint(i)])
	}
	require.Len(t, s.tokens, maxTokens)
}
