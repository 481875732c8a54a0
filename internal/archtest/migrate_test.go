package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostLines is how many lines a move may bring; 0: as many as it takes.
var mostLines = map[string]int{"gocron": 5, "redislock": 0, "redsync": 0, "fx": 25, "leader": 0, "redis_rate": 0, "asynq": 0}

// The rows of the overview, such as: | [gocron v2](gocron.md) | sologocron | 1 | 3 |
var move = regexp.MustCompile(`(?m)^\| \[[^]]+\]\(([a-z_]+)\.md\) \|.*\| (\d+) \| (\d+) \|$`)

func TestMigrationsChangeAsManyLinesAsSaid(t *testing.T) {
	dir := filepath.Join(root, "docs", "migrate")
	overview, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	said := map[string]string{}
	for _, row := range move.FindAllStringSubmatch(string(overview), -1) {
		said[row[1]] = row[2] + " go, " + row[3] + " come"
	}
	delete(said, "robfig") // solocron/example counts those
	require.Len(t, said, len(mostLines))
	for name, most := range mostLines {
		page, err := os.ReadFile(filepath.Join(dir, name+".md"))
		require.NoError(t, err)
		_, diff, _ := strings.Cut(string(page), "```diff\n")
		diff, _, found := strings.Cut(diff, "\n```")
		require.True(t, found, name)
		lines := "\n" + diff
		gone, come := strings.Count(lines, "\n-"), strings.Count(lines, "\n+")
		require.Equal(t, said[name], fmt.Sprintf("%d go, %d come", gone, come), name)
		if most > 0 {
			require.LessOrEqual(t, come, most, name)
		}
	}
}
