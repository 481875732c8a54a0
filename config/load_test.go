package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
)

// load reads a file, as the daemon does.
func load(path string, env func(string) (string, bool)) (*config.Config, error) {
	text, err := config.Read(path)
	if err != nil {
		return nil, err
	}
	return config.Parse(path, text, env)
}

func TestReadNamesTheFileThatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	c, err := load(path, noEnv)
	require.Nil(t, c)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "read configuration: open "+path)

	_, err = load(t.TempDir(), noEnv)
	require.ErrorContains(t, err, "is a directory")
}

func TestErrorsNameTheFileAsGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("solotick.yaml", []byte("x: 1\n"), 0o600))
	_, err := load("./solotick.yaml", noEnv)
	require.ErrorContains(t, err, "./solotick.yaml:1:1: x: is not a known key")
}

func TestHugeFilesAreNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 64 MiB")
	}
	_, err := load("/dev/zero", noEnv)
	require.EqualError(t, err, "/dev/zero:1:1: is larger than 64 MiB; is it the right file?")
}

func TestSetFollowsTheRulesOfTheFile(t *testing.T) {
	c := parse(t, "replica: x\n"+aJob)
	for path, text := range map[string]string{
		"namespace": "n", "replica": "r-1", "redis.url": "redis://h", "http.addr": ":0", "log.level": "debug", "log.format": "json",
		"lease.ttl": "2s", "shutdown_grace": "1s",
	} {
		require.NoError(t, c.Set(path, text))
	}
	want := parse(t, "{namespace: n, replica: r-1, redis: {url: redis://h}, http: {addr: ':0'}, log: {level: debug, format: json}, lease: {ttl: 2s}, shutdown_grace: 1s,\n"+aJob+"}")
	want.Jobs[0].Line = 2
	have := *c
	have.Jobs[0].Line = 2
	require.Equal(t, want, &have)

	require.NoError(t, c.Set("replica", ""))
	require.Empty(t, c.Replica)
}

func TestSetChecksMaxRunsAgainstWeights(t *testing.T) {
	c, err := config.Parse("f", []byte("jobs: [{name: big, schedule: '@daily', weight: 5, log: {message: m}}]"), noEnv)
	require.NoError(t, err)
	require.EqualError(t, c.Set("max_runs", "4"), `max_runs: "4" must be at least the weight of job "big", 5: this replica could never run it`)
	require.Zero(t, c.MaxRuns)
	require.EqualError(t, c.Set("max_runs", "-1"), `max_runs: "-1" must be from 0, which is no limit, to 1000000`)
	require.NoError(t, c.Set("max_runs", "5"))
	require.Equal(t, 5, c.MaxRuns)
}

func TestFailedSetChangesNothing(t *testing.T) {
	for path, test := range map[string]struct{ text, want string }{
		"redis.url":        {"http://:" + secret + "@h", "redis.url: (hidden) must start with redis://, rediss:// (TLS) or unix://"},
		"redis":            {"redis://:" + secret + "@h", "redis: (hidden) must be a mapping, not a single value"},
		"namespace":        {"${HOME}", `namespace: "${HOME}" must start with a letter or digit and hold at most 128 of A-Z a-z 0-9 . _ -`},
		"log.levle":        {"info", "log.levle: is not a known key; did you mean level?"},
		"lease.ttl":        {"1", `lease.ttl: "1" needs a unit: write 1s for seconds, or use ms, m or h`},
		"defaults.timeout": {"1s", "defaults.timeout: can be written in the configuration file only"},
		"jobs":             {"x", "jobs: can be written in the configuration file only"},
		"groups":           {"eu", `groups: "eu" must be a list of names such as [eu, us], not a single value`},
		"":                 {"", `"": is not a known key; the keys here are defaults, groups, http, jobs, lease, log, max_runs, namespace, notifications, redis, replica, shutdown_grace, store, tracing`},
	} {
		t.Run(path, func(t *testing.T) {
			c := config.Default()
			err := c.Set(path, test.text)
			require.EqualError(t, err, test.want)
			var errs config.Errors
			require.ErrorAs(t, err, &errs)
			require.Zero(t, errs[0].Line)
			require.Equal(t, config.Default(), c)
		})
	}
}
