package example

import (
	"fmt"
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
	without := func(all, others map[string]int) (n int) {
		for line, number := range all {
			n += max(0, number-others[line])
		}
		return n
	}
	before, after := lines("before/main.go"), lines("after/main.go")
	gone, come := without(before, after), without(after, before)
	require.LessOrEqual(t, come, 15)
	require.Greater(t, come, 12)
	page, err := os.ReadFile("../../docs/migrate/README.md")
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("| [robfig/cron](robfig.md) | solocron | %d | %d |", gone, come))
}
