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
	"github.com/solotick/solotick/internal/redistest"
)

func TestEachTickRunsOnOneOfTwoWorkers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 2s}\n"+oneJob)
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.ready(http.StatusOK)
	second.ready(http.StatusOK)
	count := func() int { return len(first.all("tick settled")) + len(second.all("tick settled")) }
	begun := count()
	require.Eventually(t, func() bool { return count() >= begun+3 }, patience, 10*time.Millisecond)

	first.signal(syscall.SIGTERM)
	require.Equal(t, 0, first.exit())
	alone := len(second.all("tick settled"))
	require.Eventually(t, func() bool { return len(second.all("tick settled")) >= alone+2 }, patience, 10*time.Millisecond)
	second.signal(syscall.SIGTERM)
	require.Equal(t, 0, second.exit())

	ran := map[any]any{}
	for _, p := range []*process{first, second} {
		for _, r := range p.all("tick settled") {
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
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	run := first.await("run started", "job", "held")
	second := start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	second.ready(http.StatusOK)

	first.signal(syscall.SIGKILL)
	first.exit()
	taken := second.await("run started", "job", "held", "tick", run["tick"])
	require.InDelta(t, 2, taken["attempt"], 0)
	require.Greater(t, taken["token"], run["token"])
	require.Equal(t, "second", taken["replica"])
	second.await("tick settled", "job", "held", "tick", run["tick"], "outcome", "succeeded")
	_, body := second.get("/metrics")
	require.Contains(t, body, "solotick_takeovers_total{job=\"held\"} 1\n")
}

func TestWorkerWaitsForUnreachableRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	p := start(t, filetest.Config(t, oneJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	down := p.await("store does not answer; nothing starts until it does", "level", "ERROR")
	require.Equal(t, "check that Redis runs, and its address in redis.url", down["hint"])
	require.Contains(t, p.ready(http.StatusServiceUnavailable), "the store does not answer")
	status, _ := p.get("/healthz")
	require.Equal(t, http.StatusOK, status)
	_, body := p.get("/metrics")
	require.Contains(t, body, "solotick_store_up 0\n")

	server.Restart()
	require.Equal(t, "ok\n", p.ready(http.StatusOK))
	p.await("store answers")
	p.await("tick settled", "job", "hello")

	server.Kill()
	require.Contains(t, p.ready(http.StatusServiceUnavailable), "the store does not answer")
	p.await("store does not answer; nothing starts until it does")
	p.signal(syscall.SIGTERM)
	require.Equal(t, 0, p.exit(), "it need not wait for Redis to stop")
	p.requireJSON() // whatever the client has to say about its connections
}

func TestWorkerWithoutRedisStopsCleanly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	p := start(t, filetest.Config(t, oneJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	p.await("store does not answer; nothing starts until it does")
	p.signal(syscall.SIGINT)
	require.Equal(t, 0, p.exit())
}

func TestDrainingWorkerLetsRunsFinish(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	p := start(t, filetest.Config(t, "shutdown_grace: 1m\n"+held(release)), "--http", "127.0.0.1:0")
	run := p.await("run started", "job", "held")
	require.Equal(t, "ok\n", p.ready(http.StatusOK))

	p.signal(syscall.SIGTERM)
	p.await("stopping; another signal stops at once", "signal", "terminated")
	require.Contains(t, p.ready(http.StatusServiceUnavailable), "draining")
	_, body := p.get("/metrics")
	require.Contains(t, body, "solotick_runs_in_progress{job=\"held\"} 1\n")

	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, p.exit())
	p.await("tick settled", "tick", run["tick"], "outcome", "succeeded")
	require.Empty(t, p.all("run stopped, tick released"))
}

func TestRunsPastTheGraceAreReleased(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, "shutdown_grace: 100ms\nredis: {url: \""+server.URL()+"\"}\nlease: {ttl: 1m}\n"+
		held(filepath.Join(t.TempDir(), "never")))
	first := start(t, path, "--http", "127.0.0.1:0")
	run := first.await("run started", "job", "held")
	second := start(t, path, "--http", "127.0.0.1:0")
	second.ready(http.StatusOK)

	first.signal(syscall.SIGTERM)
	require.Equal(t, 0, first.exit())
	first.await("run stopped, tick released", "tick", run["tick"])
	taken := second.await("run started", "tick", run["tick"]) // long before the lease of a minute would have run out
	require.InDelta(t, 2, taken["attempt"], 0)
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, filetest.Config(t, "shutdown_grace: 10m\n"+held(filepath.Join(t.TempDir(), "never"))), "--http", "127.0.0.1:0")
	p.await("run started", "job", "held")
	p.signal(syscall.SIGINT)
	p.await("stopping; another signal stops at once", "signal", "interrupt")
	time.Sleep(600 * time.Millisecond) // later than a signal that is sent twice
	p.signal(syscall.SIGTERM)
	require.Equal(t, 1, p.exit())
}

func TestSignalSentTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	p := start(t, filetest.Config(t, "shutdown_grace: 1m\n"+held(release)), "--http", "127.0.0.1:0")
	p.await("run started", "job", "held")
	p.signal(syscall.SIGTERM)
	p.await("stopping; another signal stops at once", "signal", "terminated")
	p.signal(syscall.SIGTERM) // once to the process and once to its group
	require.NoError(t, os.WriteFile(release, nil, 0o600))
	require.Equal(t, 0, p.exit())
}
