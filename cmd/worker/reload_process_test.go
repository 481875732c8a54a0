package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// rewrite replaces a file as careful editors do.
func rewrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func ticking(name, message string) string {
	return "- {name: " + name + ", schedule: '@every 1s', log: {message: " + message + "}}\n"
}

func TestEditLeavesOtherRunsAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	release := filepath.Join(t.TempDir(), "release")
	head := "redis: {url: \"" + server.URL() + "\"}\nlease: {ttl: 2s}\n" + held(release)
	path := filetest.Config(t, head+ticking("changed", "before")+ticking("removed", "x"))
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	run := p.Await("run started", "job", "held")
	p.Await("tick settled", "job", "removed")
	p.Await("before", "job", "changed")

	rewrite(t, path, head+ticking("changed", "after")+ticking("added", "y"))
	edited := p.Await("configuration reloaded", "level", "INFO", "file", path)
	require.Equal(t, []any{"added"}, edited["added"])
	require.Equal(t, []any{"changed"}, edited["redefined"])
	require.Equal(t, []any{"removed"}, edited["removed"])
	p.Await("after", "job", "changed")
	p.Await("tick settled", "job", "added", "outcome", "succeeded")
	before, settled := len(p.All("before")), len(p.All("run started", "job", "removed"))
	now := len(p.All("after"))
	require.Eventually(t, func() bool { return len(p.All("after")) >= now+3 }, workertest.Patience, 10*time.Millisecond)
	require.Len(t, p.All("before"), before, "the old definition runs no more")
	require.Len(t, p.All("run started", "job", "removed"), settled, "what was removed runs no more")
	require.Empty(t, p.All("tick settled", "job", "held"), "it still runs, longer than a TTL")

	_, body := p.Get("/metrics")
	require.Contains(t, body, `solotick_config_reloads_total{result="applied"} 1`)
	require.Contains(t, body, "solotick_config_last_reload_successful 1\n")
	require.Contains(t, body, `solotick_ticks_total{job="added",outcome="failed"} 0`)
	require.NotContains(t, body, `solotick_last_success_timestamp_seconds{job="removed"}`)
	require.NotContains(t, body, `solotick_next_tick_timestamp_seconds{job="removed"}`)
	require.Contains(t, body, "solotick_replicas 1\n")
	require.Contains(t, body, "solotick_jobs_unserved 0\n")

	require.NoError(t, os.WriteFile(release, nil, 0o600))
	done := p.Await("tick settled", "job", "held", "tick", run["tick"])
	require.Equal(t, "succeeded", done["outcome"])
	require.InDelta(t, 1, done["attempt"], 0)
	require.Equal(t, run["token"], done["token"])
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Exit())
	require.Empty(t, p.All("run lost"))
	p.RequireJSON()
}

func TestWorkerIgnoresABrokenEdit(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, workertest.OneJob)
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	p.Await("hello", "job", "hello")
	rewrite(t, path, strings.Replace(workertest.OneJob, "message: hello", "massage: bye", 1))
	wrong := p.Await("configuration refused; the old configuration stays in force", "level", "ERROR")
	require.Contains(t, wrong["error"], path+":5:")
	ran := len(p.All("hello"))
	require.Eventually(t, func() bool { return len(p.All("hello")) >= ran+3 }, workertest.Patience, 10*time.Millisecond)
	require.Len(t, p.All(wrong["msg"].(string)), 2, "massage is unknown, and message is missing: once each")
	_, body := p.Get("/metrics")
	require.Contains(t, body, "solotick_config_last_reload_successful 0\n")
	require.Contains(t, body, `solotick_config_reloads_total{result="refused"} 1`)

	rewrite(t, path, strings.Replace(workertest.OneJob, "message: hello", "message: bye", 1))
	p.Await("configuration reloaded")
	p.Await("bye", "job", "hello")
	_, body = p.Get("/metrics")
	require.Contains(t, body, "solotick_config_last_reload_successful 1\n")
}

func TestSIGHUPNeverEndsAWorker(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // which waits until the worker begins to read
	require.NoError(t, err)
	for range 10 {
		p.Signal(syscall.SIGHUP)
	}
	_, err = pipe.WriteString("shutdown_grace: 1m\n" + held(release))
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	p.Await("run started", "job", "held")
	refused := p.Await("configuration refused; the old configuration stays in force")
	require.Contains(t, refused["error"], path+" is not a file")

	p.Signal(syscall.SIGTERM)
	p.Await("stopping; another signal stops at once", "signal", "terminated")
	for range 10 {
		p.Signal(syscall.SIGHUP)
	}
	require.Contains(t, p.Ready(http.StatusServiceUnavailable), "draining")
	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, p.Exit())
	p.Await("tick settled", "job", "held", "outcome", "succeeded")
	p.RequireJSON()
}

func TestOnSIGHUPAWorkerReadsItsFile(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, workertest.OneJob)
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	p.Await("worker started")
	p.Signal(syscall.SIGHUP)
	p.Await("configuration read again, nothing changed", "level", "INFO")
	rewrite(t, path, workertest.OneJob+ticking("second", "x"))
	p.Signal(syscall.SIGHUP)
	p.Await("configuration reloaded")
	p.Await("tick settled", "job", "second")
}

func TestEditReplacesALeaderTask(t *testing.T) {
	t.Parallel()
	task := func(word string) string {
		return "jobs: [{name: task, leader: true, exec: {command: [sh, -c, 'echo " + word + "; sleep 1000']}}]\n"
	}
	path := filetest.Config(t, task("one"))
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	started := p.Await("worker started", "jobs", 1.0, "leader_tasks", 1.0)
	require.NotContains(t, started, "next_tick")
	p.Await("output", "line", "one")
	_, body := p.Get("/metrics")
	require.Contains(t, body, `solotick_leader{job="task"} 1`)
	require.NotContains(t, body, `solotick_next_tick_timestamp_seconds{job="task"}`)
	require.NotContains(t, body, `solotick_ticks_total{job="task"`)

	rewrite(t, path, task("two"))
	p.Await("output", "line", "two")
	rewrite(t, path, workertest.OneJob)
	p.Await("tick settled", "job", "hello")
	_, body = p.Get("/metrics")
	require.NotContains(t, body, "solotick_leader{")
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Exit())
}
