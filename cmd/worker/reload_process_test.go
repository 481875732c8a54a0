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
	p := start(t, path, "--http", "127.0.0.1:0")
	run := p.await("run started", "job", "held")
	p.await("tick settled", "job", "removed")
	p.await("before", "job", "changed")

	rewrite(t, path, head+ticking("changed", "after")+ticking("added", "y"))
	edited := p.await("configuration reloaded", "level", "INFO", "file", path)
	require.Equal(t, []any{"added"}, edited["added"])
	require.Equal(t, []any{"changed"}, edited["redefined"])
	require.Equal(t, []any{"removed"}, edited["removed"])
	p.await("after", "job", "changed")
	p.await("tick settled", "job", "added", "outcome", "succeeded")
	before, settled := len(p.all("before")), len(p.all("run started", "job", "removed"))
	now := len(p.all("after"))
	require.Eventually(t, func() bool { return len(p.all("after")) >= now+3 }, patience, 10*time.Millisecond)
	require.Len(t, p.all("before"), before, "the old definition runs no more")
	require.Len(t, p.all("run started", "job", "removed"), settled, "what was removed runs no more")
	require.Empty(t, p.all("tick settled", "job", "held"), "it still runs, longer than a TTL")

	_, body := p.get("/metrics")
	require.Contains(t, body, `solotick_config_reloads_total{result="applied"} 1`)
	require.Contains(t, body, "solotick_config_last_reload_successful 1\n")
	require.Contains(t, body, `solotick_ticks_total{job="added",outcome="failed"} 0`)
	require.NotContains(t, body, `solotick_last_success_timestamp_seconds{job="removed"}`)
	require.NotContains(t, body, `solotick_next_tick_timestamp_seconds{job="removed"}`)
	require.Contains(t, body, "solotick_replicas 1\n")
	require.Contains(t, body, "solotick_jobs_unserved 0\n")

	require.NoError(t, os.WriteFile(release, nil, 0o600))
	done := p.await("tick settled", "job", "held", "tick", run["tick"])
	require.Equal(t, "succeeded", done["outcome"])
	require.InDelta(t, 1, done["attempt"], 0)
	require.Equal(t, run["token"], done["token"])
	p.signal(syscall.SIGTERM)
	require.Equal(t, 0, p.exit())
	require.Empty(t, p.all("run lost"))
	p.requireJSON()
}

func TestWorkerIgnoresABrokenEdit(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, oneJob)
	p := start(t, path, "--http", "127.0.0.1:0")
	p.await("hello", "job", "hello")
	rewrite(t, path, strings.Replace(oneJob, "message: hello", "massage: bye", 1))
	wrong := p.await("configuration refused; the old configuration stays in force", "level", "ERROR")
	require.Contains(t, wrong["error"], path+":5:")
	ran := len(p.all("hello"))
	require.Eventually(t, func() bool { return len(p.all("hello")) >= ran+3 }, patience, 10*time.Millisecond)
	require.Len(t, p.all(wrong["msg"].(string)), 2, "massage is unknown, and message is missing: once each")
	_, body := p.get("/metrics")
	require.Contains(t, body, "solotick_config_last_reload_successful 0\n")
	require.Contains(t, body, `solotick_config_reloads_total{result="refused"} 1`)

	rewrite(t, path, strings.Replace(oneJob, "message: hello", "message: bye", 1))
	p.await("configuration reloaded")
	p.await("bye", "job", "hello")
	_, body = p.get("/metrics")
	require.Contains(t, body, "solotick_config_last_reload_successful 1\n")
}

func TestSIGHUPNeverEndsAWorker(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	p := start(t, path, "--http", "127.0.0.1:0")
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // which waits until the worker begins to read
	require.NoError(t, err)
	for range 10 {
		p.signal(syscall.SIGHUP)
	}
	_, err = pipe.WriteString("shutdown_grace: 1m\n" + held(release))
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	p.await("run started", "job", "held")
	refused := p.await("configuration refused; the old configuration stays in force")
	require.Contains(t, refused["error"], path+" is not a file")

	p.signal(syscall.SIGTERM)
	p.await("stopping; another signal stops at once", "signal", "terminated")
	for range 10 {
		p.signal(syscall.SIGHUP)
	}
	require.Contains(t, p.ready(http.StatusServiceUnavailable), "draining")
	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, p.exit())
	p.await("tick settled", "job", "held", "outcome", "succeeded")
	p.requireJSON()
}

func TestOnSIGHUPAWorkerReadsItsFile(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, oneJob)
	p := start(t, path, "--http", "127.0.0.1:0")
	p.await("worker started")
	p.signal(syscall.SIGHUP)
	p.await("configuration read again, nothing changed", "level", "INFO")
	rewrite(t, path, oneJob+ticking("second", "x"))
	p.signal(syscall.SIGHUP)
	p.await("configuration reloaded")
	p.await("tick settled", "job", "second")
}

func TestEditReplacesALeaderTask(t *testing.T) {
	t.Parallel()
	task := func(word string) string {
		return "jobs: [{name: task, leader: true, exec: {command: [sh, -c, 'echo " + word + "; sleep 1000']}}]\n"
	}
	path := filetest.Config(t, task("one"))
	p := start(t, path, "--http", "127.0.0.1:0")
	started := p.await("worker started", "jobs", 1.0, "leader_tasks", 1.0)
	require.NotContains(t, started, "next_tick")
	p.await("output", "line", "one")
	_, body := p.get("/metrics")
	require.Contains(t, body, `solotick_leader{job="task"} 1`)
	require.NotContains(t, body, `solotick_next_tick_timestamp_seconds{job="task"}`)
	require.NotContains(t, body, `solotick_ticks_total{job="task"`)

	rewrite(t, path, task("two"))
	p.await("output", "line", "two")
	rewrite(t, path, oneJob)
	p.await("tick settled", "job", "hello")
	_, body = p.get("/metrics")
	require.NotContains(t, body, "solotick_leader{")
	p.signal(syscall.SIGTERM)
	require.Equal(t, 0, p.exit())
}
