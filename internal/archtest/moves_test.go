package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Package movetest compares the rows of the overview with programs.
func TestEachMoveHasItsPrograms(t *testing.T) {
	touch(t)
	overview, err := os.ReadFile(filepath.Join(root, "docs", "migrate", "README.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| \[[^]]+\]\(([a-z_]+)\.md\) \|.*\| \d+ \|$`).FindAllSubmatch(overview, -1)
	require.Greater(t, len(rows), 6)
	var tests []byte
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "move_test.go") {
			text, err := os.ReadFile(path)
			tests = append(tests, text...)
			return err
		}
		return err
	}))
	for _, row := range rows {
		require.True(t, bytes.Contains(tests, []byte(`Page: "`+string(row[1])+`"`)), "%s", row[1])
	}
}
