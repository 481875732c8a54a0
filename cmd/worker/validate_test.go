package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

func TestValidatePrintsEveryErrorWithItsPlace(t *testing.T) {
	for _, command := range []string{"validate", "run", "next"} {
		r := workertest.Do(t, nil, command, "--config", "testdata/faulty.yaml")
		require.Equal(t, 2, r.Code, command)
		require.Empty(t, r.Stdout)
		requireLines(t, r.Stderr,
			"testdata/faulty.yaml:1:12: namespace: ",
			"testdata/faulty.yaml:2:14: lease.ttl: ",
			"testdata/faulty.yaml:6:15: jobs[0].timezone: ",
			"testdata/faulty.yaml:7:48: jobs[0].exec.kill_grace: ",
			"testdata/faulty.yaml:8:11: jobs[1].name: ",
			"testdata/faulty.yaml:9:15: jobs[1].schedule: ",
			"testdata/faulty.yaml:10:20: jobs[1].log.message: ",
			"testdata/faulty.yaml:11:5: jobs[2].name: ",
			"testdata/faulty.yaml:11:15: jobs[2].schedule: ",
			"testdata/faulty.yaml:12:17: jobs[2].http.url: ",
		)
	}
}

// requireLines checks how each line begins.
func requireLines(t *testing.T, text string, beginnings ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, lines, len(beginnings), text)
	for i, line := range lines {
		require.True(t, strings.HasPrefix(line, beginnings[i]), "%q does not begin with %q", line, beginnings[i])
	}
}

func TestValidateCountsTheJobsOfAGoodFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := workertest.Do(t, nil, "validate", "--config", "../../examples/quickstart.yaml")
		require.Equal(t, workertest.Result{Stdout: "../../examples/quickstart.yaml: 2 jobs, no errors\n"}, r)
		path := filetest.Config(t, workertest.OneJob)
		r = workertest.Do(t, nil, "validate", "--config", path)
		require.Equal(t, workertest.Result{Stdout: path + ": 1 job, no errors\n"}, r)
	})
}

func TestValidateReadsTheFileOfTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, command := range []string{"validate", "run", "next"} {
		r := workertest.Do(t, nil, command)
		require.Equal(t, 2, r.Code)
		require.Equal(t, "no configuration: there is no solotick.yaml here; name a file with --config FILE, and see "+
			"examples/quickstart.yaml for one to begin with\n", r.Stderr)
	}
	require.NoError(t, os.WriteFile("solotick.yaml", []byte(workertest.OneJob), 0o600))
	require.Equal(t, workertest.Result{Stdout: "solotick.yaml: 1 job, no errors\n"}, workertest.Do(t, nil, "validate"))
}

func TestUnreadableFileIsAWrongConfiguration(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	r := workertest.Do(t, nil, "validate", "--config", missing)
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, missing+": no such file or directory")
}

func TestValuesComeFromTheEnvironment(t *testing.T) {
	path := filetest.Config(t, `namespace: ${NS}`+workertest.OneJob)
	require.Equal(t, 2, workertest.Do(t, nil, "validate", "--config", path).Code)
	require.Equal(t, 0, workertest.Do(t, map[string]string{"NS": "billing"}, "validate", "--config", path).Code)
}

func TestRefusedRedisURLIsNotShown(t *testing.T) {
	path := filetest.Config(t, "redis: {url: \"redis://user:12?hunter2@localhost/0\"}\n"+workertest.OneJob) // the ? should have been %3F
	for _, command := range []string{"validate", "next"} {
		r := workertest.Do(t, nil, command, "--config", path)
		require.Equal(t, 2, r.Code)
		require.Contains(t, r.Stderr, "redis.url: (hidden) cannot be used")
		require.NotContains(t, r.Stderr, "hunter2")
	}
	r := workertest.Do(t, nil, "run", "--config", path, "--http", "127.0.0.1:0")
	require.Equal(t, 2, r.Code)
	require.NotContains(t, r.Stderr, "hunter2")
}

func TestValidateWarnsOfClockChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at(t, "2026-03-01T00:00:00Z")
		r := workertest.Do(t, nil, "validate", "--config", "testdata/dst.yaml")
		require.Equal(t, 0, r.Code)
		require.Equal(t, "testdata/dst.yaml: 4 jobs, no errors\n", r.Stdout)
		requireLines(t, r.Stderr,
			"testdata/dst.yaml:2: warning: job nightly-report: 02:30 on 2026-03-29 does not exist in Europe/Berlin",
			"testdata/dst.yaml:7: warning: job quarter-past: 02:00 to 02:45 on 2026-03-29 (4 ticks) do not exist",
			"testdata/dst.yaml:7: warning: job quarter-past: 02:00 to 02:45 on 2026-10-25 (4 ticks) come twice",
		) // that nightly-report runs once in autumn is as it should be
	})
}

func TestValidateLimitsItsWarnings(t *testing.T) {
	var text strings.Builder
	text.WriteString("jobs:\n")
	for i := range 30 {
		fmt.Fprintf(&text, "- {name: job-%d, schedule: \"30 2 * * *\", timezone: Europe/Berlin, log: {message: x}}\n", i)
	}
	path := filetest.Config(t, text.String())
	synctest.Test(t, func(t *testing.T) {
		at(t, "2026-03-01T00:00:00Z")
		r := workertest.Do(t, nil, "validate", "--config", path)
		require.Equal(t, 0, r.Code)
		require.Equal(t, 21, strings.Count(r.Stderr, "\n"))
		require.True(t, strings.HasSuffix(r.Stderr, path+": warning: and 10 more like these\n"), r.Stderr)
	})
}

func TestValidateNamesTheJobsThatHaveNoTicks(t *testing.T) {
	path := filetest.Config(t, leaders+"- {name: hello, schedule: \"@every 1s\", log: {message: x}}\n")
	require.Equal(t, workertest.Result{Stdout: path + ": 3 jobs (leader task, runs all the time: indexer, sleeper), no errors\n"},
		workertest.Do(t, nil, "validate", "--config", path))
}

func TestExamplesAreValid(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.GreaterOrEqual(t, len(files), 3)
	for _, file := range files {
		r := workertest.Do(t, nil, "validate", "--config", file)
		require.Equal(t, 0, r.Code, "%s: %s", file, r.Stderr)
	}
}

func TestValidateSaysThatItWaitsForAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte(workertest.OneJob), 0o600) }()
	r := workertest.Do(t, nil, "validate", "--config", path)
	require.NoError(t, <-written)
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "pipe is a named pipe: reading what somebody writes to it")
}
