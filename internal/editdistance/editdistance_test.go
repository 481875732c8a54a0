package editdistance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/editdistance"
)

func TestDistanceCountsEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1},
		{"abc", "ab", 1}, {"ab", "abc", 1}, {"kitten", "sitting", 3}, {"lgo", "log", 1},
		{"xb", "bc", 2}, {"bx", "cb", 2}, {"ab", "cd", 2}, {"xbcd", "bycd", 2},
	} {
		require.Equal(t, test.want, editdistance.Of(test.a, test.b), "%s %s", test.a, test.b)
	}
	require.Equal(t, 1000, editdistance.Of(strings.Repeat("x", 1000), "abc"))
}
