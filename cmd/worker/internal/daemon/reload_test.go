package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/configfile"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

const (
	jobA = "- {name: a, schedule: '@hourly', log: {message: a}}\n"
	jobB = "- {name: b, schedule: '@hourly', log: {message: b}}\n"
	jobC = "- {name: c, schedule: '@hourly', log: {message: c}}\n"
)

func TestAChangedFileChangesTheJobsThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA+jobB))
		r.looks(5)
		require.Zero(t, r.updates(), "nothing changed")

		r.write("jobs:\n" + strings.Replace(jobB, "message: b", "message: other", 1) + jobC)
		r.looks(1)
		require.Zero(t, r.updates(), "it may be half of a file")
		r.looks(1)
		require.Equal(t, []string{"b", "c"}, r.names())
		lines := r.logged()
		require.Len(t, lines, 1)
		require.Equal(t, "INFO configuration reloaded", lines[0]["level"].(string)+" "+lines[0]["msg"].(string))
		require.Equal(t, r.path, lines[0]["file"])
		require.Equal(t, []any{"c"}, lines[0]["added"])
		require.Equal(t, []any{"b"}, lines[0]["redefined"])
		require.Equal(t, []any{"a"}, lines[0]["removed"])
		require.Equal(t, []string{"applied"}, r.results())
		r.looks(10)
		require.Equal(t, 1, r.updates(), "once")
	})
}

func TestLargeEditNamesSomeJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		text := "jobs:\n" + jobA
		for i := range maxNamed + 7 {
			text += fmt.Sprintf("- {name: j%03d, schedule: '@hourly', log: {message: b}}\n", i)
		}
		r.write(text)
		r.looks(2)
		added := r.logged()[0]["added"].([]any)
		require.Len(t, added, maxNamed+1)
		require.Equal(t, "j000", added[0])
		require.Equal(t, "and 7 more", added[maxNamed])
		require.Len(t, r.names(), maxNamed+8)
	})
}

func TestHalfWrittenFileIsNotApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		text := "jobs:\n" + jobB + jobC
		for n := 1; n < len(text); n += 5 {
			r.write(text[:n])
			r.looks(1)
		}
		require.Empty(t, r.logged())
		require.Equal(t, []string{"a"}, r.names())
		r.write(text)
		r.looks(2)
		require.Equal(t, []string{"b", "c"}, r.names())

		for range 3 { // the file as it was before, between two looks at another one
			r.write("jobs:\n" + jobA)
			r.looks(1)
			r.write(text)
			r.looks(1)
		}
		require.Equal(t, []string{"b", "c"}, r.names())
	})
}

func TestBrokenFileIsRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := "jobs:\n" + jobA
		r := newReloading(t, filetest.Config(t, good))
		r.write("nothing: 1\njobs:\n" + jobB + "- {name: c, schedule: 'x', log: {message: c}}\n- {name: a, schedule: '@daily'}\n")
		r.looks(30)
		var faults []string
		for _, line := range r.logged() {
			require.True(t, line.is("configuration refused; the old configuration stays in force", "level", "ERROR"), line)
			faults = append(faults, line["error"].(string))
		}
		require.Len(t, faults, 3)
		require.Contains(t, faults[0], r.path+":1:1: nothing: is not a known key")
		require.Contains(t, faults[1], r.path+":4:")
		require.Contains(t, faults[2], r.path+":5:")
		require.Zero(t, r.updates())
		require.Equal(t, []string{"refused"}, r.results())

		r.write("jobs: [")
		r.looks(5)
		require.Len(t, r.logged(), 1, "broken in another way")

		r.write(good)
		r.looks(5)
		lines := r.logged()
		require.Len(t, lines, 1)
		require.True(t, lines[0].is("configuration read again, nothing changed", "level", "INFO"), "it is good to know: %v", lines)
		r.write(good + jobB)
		r.looks(2)
		require.Equal(t, []string{"a", "b"}, r.names())
	})
}

func TestJobThatCannotBeMadeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		r.write("jobs:\n" + jobB + "- {name: s, schedule: '@hourly', redis_stream: {stream: s}}\n")
		r.looks(3)
		require.Equal(t, []string{"a"}, r.names())
		lines := r.logged()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0]["error"], r.path+":3:1: jobs[1].redis_stream: needs Redis")
	})
}

func TestEquivalentFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "log: {level: debug}\njobs:\n"+jobA))
		before := r.jobs.Jobs()
		r.write("jobs:\n- name: a # the first\n  log:\n    message: a\n  schedule: \"@hourly\"\nlog: {level: debug}\n")
		r.looks(3)
		lines := r.logged()
		require.Len(t, lines, 1)
		require.True(t, lines[0].is("configuration read again, nothing changed", "level", "DEBUG"), "%v", lines)
		require.Equal(t, []string{"unchanged"}, r.results())
		require.Equal(t, before, r.jobs.Jobs())

		r.hangup()
		lines = r.logged()
		require.Len(t, lines, 1)
		require.Equal(t, "INFO", lines[0]["level"], "who asks gets an answer")
	})
}

func TestSIGHUPReadsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		r.write("jobs:\n" + jobB)
		r.hangup()
		require.Equal(t, []string{"b"}, r.names())
		require.Len(t, r.logged(), 1)
		r.looks(5)
		require.Equal(t, 1, r.updates(), "what SIGHUP dealt with is no news to the looks")

		r.write("jobs: 1")
		r.looks(5)
		r.hangup()
		r.hangup()
		require.Len(t, r.logged(), 3)
		require.Equal(t, []string{"b"}, r.names())
	})
}

func TestSettingsThatNeedARestartAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA), configfile.Flag{Name: "replica", Key: "replica", Value: "r1"})
		r.write(`namespace: other
replica: the flag wins
groups: [eu]
redis: {url: "redis://:hunter2@localhost", wait_replicas: 1, failover_grace: 1m}
lease: {ttl: 3s}
http: {addr: ":0"}
shutdown_grace: 1s
log: {level: debug, format: json}
jobs:
` + jobA + "- {name: eu, schedule: '@hourly', log: {message: b}, groups: [eu]}\n" + jobB)
		r.looks(2)
		require.Len(t, r.logged(), 1, "a replica's id has no spaces")
		r.write(strings.Replace(read(t, r.path), "replica: the flag wins", "replica: r2", 1))
		r.looks(2)

		require.Equal(t, []string{"a", "b"}, r.names(), "eu is for another group, as long as groups is what it was")
		lines := r.logged()
		require.Len(t, lines, 2)
		require.Equal(t, "WARN", lines[0]["level"])
		require.Contains(t, lines[0]["msg"], "restart it to apply them")
		require.Equal(t, []any{"namespace", "groups", "store.url", "redis.url", "redis.wait_replicas", "redis.failover_grace", "lease.ttl", "http.addr", "shutdown_grace", "log.format"}, lines[0]["keys"])
		require.True(t, lines[1].is("configuration reloaded", "level", "INFO", "log_level", "debug"), "%v", lines[1])

		r.write("jobs:\n" + jobA + jobB)
		r.looks(2)
		require.Len(t, r.logged(), 1, "the level alone, and no warning")
	})
}

func TestAReplicasIDThatDiffersNeedsARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		r.write("replica: r2\njobs:\n" + jobA)
		r.looks(2)
		require.Equal(t, []any{"replica"}, r.logged()[0]["keys"])
	})
}

func TestReplacedFileIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		other := filepath.Join(filepath.Dir(r.path), "other")
		require.NoError(t, os.WriteFile(other, []byte("jobs:\n"+jobB), 0o600))
		require.NoError(t, os.Rename(other, r.path))
		r.looks(2)
		require.Equal(t, []string{"b"}, r.names())
		r.logged()

		require.NoError(t, os.Remove(r.path))
		r.looks(10)
		lines := r.logged()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0]["error"], r.path+": no such file or directory")
		require.NoError(t, os.Mkdir(r.path, 0o700))
		r.looks(10)
		lines = r.logged()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0]["error"], "is not a file")
		require.NoError(t, os.Remove(r.path))
		r.write("jobs:\n" + jobC)
		r.looks(2)
		require.Equal(t, []string{"c"}, r.names())
	})
}

func TestAConfigMapOfKubernetesIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		publish := func(version, text string) { // as the kubelet does: a directory of files, and a link to it that is renamed
			require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, version, "solotick.yaml"), []byte(text), 0o600))
			require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
			require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		}
		publish("..1", "jobs:\n"+jobA)
		require.NoError(t, os.Symlink("..data/solotick.yaml", filepath.Join(dir, "solotick.yaml")))
		r := newReloading(t, filepath.Join(dir, "solotick.yaml"))
		publish("..2", "jobs:\n"+jobB)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "..1")))
		r.looks(2)
		require.Equal(t, []string{"b"}, r.names())
		require.Len(t, r.logged(), 1)
	})
}

// To open a pipe again would wait for ever.
func TestAPipeIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	go func() { _ = os.WriteFile(path, []byte("jobs:\n"+jobA), 0o600) }()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	go func() { _ = os.WriteFile(path, text, 0o600) }()
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, path)
		r.looks(10)
		require.Empty(t, r.logged())
		r.hangup()
		lines := r.logged()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0]["error"], path+" is not a file, so it cannot be read again; restart the worker instead")
		require.Equal(t, []string{"a"}, r.names())
	})
}

func TestReloadDuringTheStopChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "jobs:\n"+jobA))
		from := &source{file: &configfile.File{Path: r.path}, loaded: config.Default(), level: new(slog.LevelVar)}
		reloader := newReloader(from, quiet)
		reloader.parse = func(configfile.Snapshot) (*config.Config, error) { return config.Default(), nil }
		reloader.make = func(*config.Config) (*jobs.Registry, error) { return new(jobs.Registry), nil }
		reloader.update = func(_ *config.Config, registry *jobs.Registry) scheduler.Changes { return r.jobs.Update(registry) }
		reloader.count = func(bool, error) {}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		reloader.reload(ctx, configfile.Snapshot{}, true)
		require.Equal(t, []string{"a"}, r.names())
	})
}

func TestTheLevelOfTheLogFollowsTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReloading(t, filetest.Config(t, "log: {level: error}\njobs:\n"+jobA))
		r.write("jobs:\n" + jobB)
		r.looks(2)
		lines := r.logged()
		require.Len(t, lines, 1, "it is info")
		require.Equal(t, "info", lines[0]["log_level"])
		r.write("log: {level: warn}\njobs:\n" + jobA)
		r.looks(2)
		require.Empty(t, r.logged())
		require.Equal(t, []string{"a"}, r.names())
	})
}
