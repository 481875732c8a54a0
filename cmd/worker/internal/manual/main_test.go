package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/cli"
)

func TestEveryCommandHasAPage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	require.NoError(t, write(dir, "v1.2.3"))
	pages := 0
	for _, cmd := range cli.Command("v1.2.3").Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" || cmd.Name() == "completion" { // cobra's own
			continue
		}
		pages++
		page, err := os.ReadFile(filepath.Join(dir, "man", "worker-"+cmd.Name()+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), `"Nov 2023" "Solotick v1.2.3"`, "the date is that of the source")
		require.Contains(t, string(page), "EXAMPLE", cmd.Name())
		if flag := cmd.Flags().Lookup("output"); flag != nil {
			require.Contains(t, strings.ReplaceAll(string(page), `\-`, "-"), "--output", cmd.Name())
		}
	}
	require.Greater(t, pages, 15)
	first, err := os.ReadFile(filepath.Join(dir, "man", "worker.1"))
	require.NoError(t, err)
	require.Contains(t, string(first), "worker-trigger(1)")
}

func TestTheBashScriptIsValidAndAsksTheWorker(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(dir, "v1.2.3"))
	script := filepath.Join(dir, "completions", "worker.bash")
	out, err := exec.Command("bash", "-n", script).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := os.ReadFile(filepath.Join(dir, "completions", "worker."+shell))
		require.NoError(t, err)
		require.Contains(t, string(text), "__complete", shell)
	}
}
