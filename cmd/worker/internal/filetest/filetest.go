// Package filetest has the files of this program's tests: configurations, and what the program is
// expected to print.
package filetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files of testdata instead of comparing with them")

// Config writes a configuration and returns its path.
func Config(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "solotick.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Golden compares a text with a file of the test's testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
