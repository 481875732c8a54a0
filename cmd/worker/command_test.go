package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/daemon"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestWrongCommandLineExitsWith2(t *testing.T) {
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
			r := workertest.Do(t, nil, test.args...)
			require.Equal(t, 2, r.Code)
			require.Empty(t, r.Stdout)
			for _, want := range test.want {
				require.Contains(t, r.Stderr, want)
			}
		})
	}
}

func TestFaultsOfFlagsAndFileComeTogether(t *testing.T) {
	args := []string{
		"run", "--config", "testdata/faulty.yaml", "--replica", "a b", "--http", "localhost", "--redis", "http://u:hunter2@h",
		"--namespace", "", "--log-format", "xml", "--log-level", "loud",
	}
	r := workertest.Do(t, nil, args...)
	require.Equal(t, 2, r.Code)
	for _, want := range []string{
		`--replica: "a b" must start with a letter or digit`, `--http: "localhost" must be host:port`,
		`--redis: (hidden) must start with redis://`, `--namespace: "" must`, `--log-format: "xml" must be one of text, json`,
		`--log-level: "loud" must be one of debug, info, warn, error`, `testdata/faulty.yaml:1:12: namespace: "not a name"`,
	} {
		require.Contains(t, r.Stderr, want)
	}
	require.NotContains(t, r.Stderr, "hunter2")
}

func TestHelpHidesTheSupervisor(t *testing.T) {
	require.NotContains(t, workertest.Do(t, nil, "--help").Stdout, daemon.SupervisorCommand)
}

func TestAShellCompletesCommandsAndJobs(t *testing.T) {
	r := workertest.Do(t, nil, "completion", "bash")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "worker")
	require.Contains(t, workertest.Do(t, nil, "--help").Stdout, "\n  completion ")
	path := filetest.Config(t, "jobs:\n- {name: one, schedule: '@daily', log: {message: x}}\n- {name: two, schedule: '@daily', log: {message: x}}\n")
	require.Equal(t, "one\ntwo\n:4\n", workertest.Do(t, nil, "__complete", "describe", "--config", path, "").Stdout)
	require.Equal(t, "two\n:4\n", workertest.Do(t, nil, "__complete", "status", "--config", path, "one", "").Stdout)
	require.Equal(t, ":4\n", workertest.Do(t, nil, "__complete", "why", "--config", path, "one", "").Stdout)
}

func TestAShellCompletesTheFleetsJobs(t *testing.T) {
	redis := redistest.Start(t)
	fleet := "namespace: completion\nredis: {url: '" + redis.URL() + "'}\nhttp: {addr: '127.0.0.1:0'}\njobs:\n"
	served := filetest.Config(t, fleet+"- {name: one, schedule: '@daily', log: {message: x}}\n- {name: three, schedule: '@daily', log: {message: x}}\n")
	mine := filetest.Config(t, fleet+"- {name: two, schedule: '@daily', log: {message: x}}\n- {name: one, schedule: '@daily', log: {message: x}}\n")
	worker := workertest.Start(t, served)
	require.Eventually(t, func() bool {
		return workertest.Do(t, nil, "__complete", "trigger", "--config", mine, "").Stdout == "two\none\nthree\n:4\n"
	}, workertest.Patience, 50*time.Millisecond)
	require.Equal(t, "two\none\n:4\n", workertest.Do(t, nil, "__complete", "next", "--config", mine, "").Stdout, "next asks no fleet")
	server := "http://" + worker.Await("http listening")["addr"].(string)
	require.Equal(t, "one\nthree\n:4\n", workertest.Do(t, nil, "__complete", "why", "--server", server, "").Stdout)

	redis.Freeze()
	require.Equal(t, "two\none\n:4\n", workertest.Do(t, nil, "__complete", "trigger", "--config", mine, "").Stdout, "the fleet does not answer")
}
