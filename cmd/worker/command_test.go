package main

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	root := new(cli).root()
	commands := append([]*cobra.Command{root}, root.Commands()...)
	require.Len(t, commands, 16, "run, validate, next, status, describe, history, why, trigger, cancel, pause, resume, repair, forget, doctor, version and the root")
	for _, command := range commands {
		args := append(strings.Fields(command.CommandPath())[1:], "--help")
		r := do(t, nil, args...)
		require.Equal(t, 0, r.code)
		require.Empty(t, r.stderr)
		require.Contains(t, r.stdout, "\nExamples:\n  "+command.CommandPath())
	}
}

func TestAWrongCommandLineExitsWith2AndHelps(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"nothing":            {nil, []string{"worker: which command?", "Available Commands:"}},
		"unknown command":    {[]string{"launch"}, []string{`unknown command "launch"`, "Available Commands:"}},
		"misspelt command":   {[]string{"rnu"}, []string{`unknown command "rnu"; did you mean run?`}},
		"unknown flag":       {[]string{"run", "--replicas", "3"}, []string{"unknown flag: --replicas", "Run 'worker run --help'"}},
		"flag of another":    {[]string{"validate", "--redis", "x"}, []string{"unknown flag: --redis", "Run 'worker validate --help'"}},
		"flag without value": {[]string{"run", "--redis"}, []string{"flag needs an argument: --redis"}},
		"file as argument":   {[]string{"validate", "a.yaml"}, []string{`"a.yaml": validate takes no arguments; name the configuration with --config FILE`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := do(t, nil, test.args...)
			require.Equal(t, 2, r.code)
			require.Empty(t, r.stdout)
			for _, want := range test.want {
				require.Contains(t, r.stderr, want)
			}
		})
	}
}

func TestFaultsOfFlagsNameTheFlagAndComeAllAtOnceWithThoseOfTheFile(t *testing.T) {
	args := []string{
		"run", "--config", "testdata/faulty.yaml", "--replica", "a b", "--http", "localhost", "--redis", "http://u:hunter2@h",
		"--namespace", "", "--log-format", "xml", "--log-level", "loud",
	}
	r := do(t, nil, args...)
	require.Equal(t, 2, r.code)
	for _, want := range []string{
		`--replica: "a b" must start with a letter or digit`, `--http: "localhost" must be host:port`,
		`--redis: (hidden) must start with redis://`, `--namespace: "" must`, `--log-format: "xml" must be one of text, json`,
		`--log-level: "loud" must be one of debug, info, warn, error`, `testdata/faulty.yaml:1:12: namespace: "not a name"`,
	} {
		require.Contains(t, r.stderr, want)
	}
	require.NotContains(t, r.stderr, "hunter2")
}

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	defer func(v string) { version = v }(version)
	version = "v9.8.7"
	for _, args := range [][]string{{"--version"}, {"version"}} {
		require.Equal(t, result{0, "worker v9.8.7\n", ""}, do(t, nil, args...))
	}
	version = ""
	require.NotEmpty(t, programVersion())

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

func TestTheGuardIsNoUseByHandAndNotShown(t *testing.T) {
	require.NotContains(t, do(t, nil, "--help").stdout, guardCommand)
}

func TestReplicaIDsAreValidAndDiffer(t *testing.T) {
	for host, prefix := range map[string]string{
		"web-1":                         "web-1-",
		"web-1.example.com":             "web-1.example.com-",
		"":                              "replica-",
		"-.-":                           "replica-",
		"my laptop (old)":               "my-laptop--old-",
		"größe":                         "gr--e-",
		strings.Repeat("x", 200):        strings.Repeat("x", 119) + "-",
		strings.Repeat("é", 200):        "replica-",
		"_host_":                        "host-",
		strings.Repeat("x", 118) + "-y": strings.Repeat("x", 118) + "-",
	} {
		t.Run(fmt.Sprintf("%.20q", host), func(t *testing.T) {
			id := replicaID(host)
			require.True(t, jobs.ValidName(id), id)
			require.Equal(t, prefix, id[:len(id)-8])
			require.NotEqual(t, id, replicaID(host))
		})
	}
}

func TestAShellCompletesCommandsAndJobs(t *testing.T) {
	r := do(t, nil, "completion", "bash")
	require.Equal(t, 0, r.code, r.stderr)
	require.Contains(t, r.stdout, "worker")
	require.Contains(t, do(t, nil, "--help").stdout, "\n  completion ")
	path := file(t, "jobs:\n- {name: one, schedule: '@daily', log: {message: x}}\n- {name: two, schedule: '@daily', log: {message: x}}\n")
	require.Equal(t, "one\ntwo\n:4\n", do(t, nil, "__complete", "describe", "--config", path, "").stdout)
	require.Equal(t, "two\n:4\n", do(t, nil, "__complete", "status", "--config", path, "one", "").stdout)
	require.Equal(t, ":4\n", do(t, nil, "__complete", "why", "--config", path, "one", "").stdout)
}
