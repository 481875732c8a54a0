package cli

import (
	"bytes"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
)

// printedBy calls the program, which must succeed, and returns what it prints.
func printedBy(t *testing.T, version string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitcode.Done, Main(t.Context(), version, args, &stdout, &stderr, os.LookupEnv), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	root := new(cli).root()
	commands := append([]*cobra.Command{root}, root.Commands()...)
	require.Len(t, commands, 22, "run, validate, next, status, describe, history, why, trigger, run-again, cancel, pause, resume, repair, forget, audit, schedules, notify, doctor, schema, import, version and the root")
	schedules, _, err := root.Find([]string{"schedules"})
	require.NoError(t, err)
	require.Len(t, schedules.Commands(), 9)
	imports, _, err := root.Find([]string{"import"})
	require.NoError(t, err)
	require.Len(t, imports.Commands(), 1)
	commands = slices.Concat(commands, schedules.Commands(), imports.Commands())
	for _, command := range commands {
		args := append(strings.Fields(command.CommandPath())[1:], "--help")
		require.Contains(t, printedBy(t, "", args...), "\nExamples:\n  "+command.CommandPath())
	}
}

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	for _, args := range [][]string{{"--version"}, {"version"}} {
		require.Equal(t, "worker v9.8.7\n", printedBy(t, "v9.8.7", args...))
	}
	require.NotEmpty(t, versionOf(""))

	for want, info := range map[string]debug.BuildInfo{
		"v1.0.0": {Main: debug.Module{Version: "v1.0.0"}},
		"devel":  {Main: debug.Module{Version: "(devel)"}},
		"devel-0123456789ab-modified": {Settings: []debug.BuildSetting{
			{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0123456789abcdef"},
		}},
		"devel-0123": {Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123"}, {Key: "vcs.modified", Value: "false"},
		}},
	} {
		require.Equal(t, want, recordedVersion(&info))
	}
}

func TestSchemaNeedsNoConfiguration(t *testing.T) {
	require.Equal(t, string(config.Schema()), printedBy(t, "", "schema", "--config", "/no/such/file"))
}
