package example

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Twelve names, the constructor, and two imports with an empty line between them.
func TestTwelveJobsMoveInFifteenLines(t *testing.T) {
	lines := func(file string) map[string]int {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		number := map[string]int{}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				number[line]++
			}
		}
		return number
	}
	before, changed := lines("before/main.go"), 0
	for line, n := range lines("after/main.go") {
		changed += max(0, n-before[line])
	}
	require.LessOrEqual(t, changed, 15)
	require.Greater(t, changed, 12)
}
