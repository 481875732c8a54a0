package main

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestEachTickRunsOnOneOfTwoWorkers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 2s}\n"+workertest.OneJob)
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	count := func() int { return len(first.All("tick settled")) + len(second.All("tick settled")) }
	begun := count()
	require.Eventually(t, func() bool { return count() >= begun+3 }, workertest.Patience, 10*time.Millisecond)

	first.Signal(syscall.SIGTERM)
	require.Equal(t, 0, first.Exit())
	alone := len(second.All("tick settled"))
	require.Eventually(t, func() bool { return len(second.All("tick settled")) >= alone+2 }, workertest.Patience, 10*time.Millisecond)
	second.Signal(syscall.SIGTERM)
	require.Equal(t, 0, second.Exit())

	ran := map[any]any{}
	for _, p := range []*workertest.Process{first, second} {
		for _, r := range p.All("tick settled") {
			require.Equal(t, "succeeded", r["outcome"])
			require.NotContains(t, ran, r["tick"], "ran on both")
			ran[r["tick"]] = r["replica"]
		}
	}
}

// held is a job whose first attempt lasts until a file exists, and which fits in a configuration.
func held(release string) string {
	return `
jobs:
- name: held
  schedule: "@every 1s"
  exec:
    command: [sh, -c, '[ "$SOLOTICK_ATTEMPT" -gt 1 ] || until [ -e "$0" ]; do sleep 0.05; done', "` + release + `"]
`
}

func TestTakeoverHasAHigherToken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 3s}\n"+held(filepath.Join(t.TempDir(), "never")))
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	run := first.Await("run started", "job", "held")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	second.Ready(http.StatusOK)

	first.Signal(syscall.SIGKILL)
	first.Exit()
	taken := second.Await("run started", "job", "held", "tick", run["tick"])
	require.InDelta(t, 2, taken["attempt"], 0)
	require.Greater(t, taken["token"], run["token"])
	require.Equal(t, "second", taken["replica"])
	second.Await("tick settled", "job", "held", "tick", run["tick"], "outcome", "succeeded")
	_, body := second.Get("/metrics")
	require.Contains(t, body, "solotick_takeovers_total{job=\"held\"} 1\n")
}

func TestWorkerWaitsForUnreachableRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	p := workertest.Start(t, filetest.Config(t, workertest.OneJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	down := p.Await("store does not answer; nothing starts until it does", "level", "ERROR")
	require.Equal(t, "check that Redis runs, and its address in redis.url", down["hint"])
	require.Contains(t, p.Ready(http.StatusServiceUnavailable), "the store does not answer")
	status, _ := p.Get("/healthz")
	require.Equal(t, http.StatusOK, status)
	_, body := p.Get("/metrics")
	require.Contains(t, body, "solotick_store_up 0\n")

	server.Restart()
	require.Equal(t, "ok\n", p.Ready(http.StatusOK))
	p.Await("store answers")
	p.Await("tick settled", "job", "hello")

	server.Kill()
	require.Contains(t, p.Ready(http.StatusServiceUnavailable), "the store does not answer")
	p.Await("store does not answer; nothing starts until it does")
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Exit(), "it need not wait for Redis to stop")
	p.RequireJSON() // whatever the client has to say about its connections
}

func TestWorkerWithoutRedisStopsCleanly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	p := workertest.Start(t, filetest.Config(t, workertest.OneJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	p.Await("store does not answer; nothing starts until it does")
	p.Signal(syscall.SIGINT)
	require.Equal(t, 0, p.Exit())
}

func TestDrainingWorkerLetsRunsFinish(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	p := workertest.Start(t, filetest.Config(t, "shutdown_grace: 1m\n"+held(release)), "--http", "127.0.0.1:0")
	run := p.Await("run started", "job", "held")
	require.Equal(t, "ok\n", p.Ready(http.StatusOK))

	p.Signal(syscall.SIGTERM)
	p.Await("stopping; another signal stops at once", "signal", "terminated")
	require.Contains(t, p.Ready(http.StatusServiceUnavailable), "draining")
	_, body := p.Get("/metrics")
	require.Contains(t, body, "solotick_runs_in_progress{job=\"held\"} 1\n")

	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, p.Exit())
	p.Await("tick settled", "tick", run["tick"], "outcome", "succeeded")
	require.Empty(t, p.All("run stopped, tick released"))
}

func TestRunsPastTheGraceAreReleased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, "shutdown_grace: 100ms\nredis: {url: \""+server.URL()+"\"}\nlease: {ttl: 1m}\n"+
		held(filepath.Join(t.TempDir(), "never")))
	first := workertest.Start(t, path, "--http", "127.0.0.1:0")
	run := first.Await("run started", "job", "held")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0")
	second.Ready(http.StatusOK)

	first.Signal(syscall.SIGTERM)
	require.Equal(t, 0, first.Exit())
	first.Await("run stopped, tick released", "tick", run["tick"])
	taken := second.Await("run started", "tick", run["tick"]) // long before the lease of a minute would have run out
	require.InDelta(t, 2, taken["attempt"], 0)
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := workertest.Start(t, filetest.Config(t, "shutdown_grace: 10m\n"+held(filepath.Join(t.TempDir(), "never"))), "--http", "127.0.0.1:0")
	p.Await("run started", "job", "held")
	p.Signal(syscall.SIGINT)
	p.Await("stopping; another signal stops at once", "signal", "interrupt")
	time.Sleep(600 * time.Millisecond) // later than a signal that is sent twice
	p.Signal(syscall.SIGTERM)
	require.Equal(t, 1, p.Exit())
}

func TestSignalSentTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	p := workertest.Start(t, filetest.Config(t, "shutdown_grace: 1m\n"+held(release)), "--http", "127.0.0.1:0")
	p.Await("run started", "job", "held")
	p.Signal(syscall.SIGTERM)
	p.Await("stopping; another signal stops at once", "signal", "terminated")
	p.Signal(syscall.SIGTERM) // once to the process and once to its group
	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, p.Exit())
}
