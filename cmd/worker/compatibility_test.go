package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCompatibilityPageSaysWhatIsTested compares the page with what these tests run on.
func TestTheCompatibilityPageSaysWhatIsTested(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(repository + "/" + path)
		require.NoError(t, err)
		return string(text)
	}
	page := read("docs/compatibility.md")

	modules, err := filepath.Glob(repository + "/*/*/go.mod")
	require.NoError(t, err)
	require.NotEmpty(t, modules)
	asked := regexp.MustCompile(`(?m)^go (\d+\.\d+)(\.\d+)$`)
	version := asked.FindStringSubmatch(read("go.mod"))
	require.Contains(t, page, "| Go "+version[1]+" |")
	require.Contains(t, page, "asks for "+version[1]+version[2])
	for _, file := range modules {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, version[0], asked.FindString(string(text)), file)
	}

	out, err := exec.Command("redis-server", "--version").Output()
	require.NoError(t, err)
	server := regexp.MustCompile(`^(Redis|Valkey) server v=(\d+\.\d+)`).FindStringSubmatch(string(out))
	require.Regexp(t, `\| `+server[1]+` \| (Redis )?`+regexp.QuoteMeta(server[2])+`\b`, page, "tested is the installed one")
	require.Contains(t, read("cmd/worker/internal/doctor/server.go"), "use Redis 7.0 or Valkey 7.2, or later")
	require.Contains(t, page, "the scripts need 7.0")
	require.Regexp(t, `\| Valkey \| [^|]+ \| 7\.2 and newer`, page)
}
