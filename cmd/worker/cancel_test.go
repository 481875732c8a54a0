package main

import (
	"encoding/json"
	"fmt"
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
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/wire"
)

// endless is a job whose command runs until it gets SIGTERM, of which it writes that into a file.
func endless(t *testing.T, server *redistest.Server, more string) (path, terms string) {
	t.Helper()
	terms = filepath.Join(t.TempDir(), "terms")
	return filetest.Config(t, fmt.Sprintf(`redis: {url: %q}
lease: {ttl: 3s}
jobs:
- name: endless
  schedule: "@yearly"
  %s
  exec:
    command: [sh, -c, 'trap "echo $SOLOTICK_ATTEMPT >> %s; exit 0" TERM; while :; do sleep 0.05; done']
- {name: lead, leader: true, log: {message: x}}
`, server.URL(), more, terms)), terms
}

func TestCancelEndsARunOnAnotherReplica(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path, terms := endless(t, server, "retry: {max_attempts: 3, backoff: 1s}")
	ask := func(args ...string) workertest.Result {
		return workertest.Do(t, map[string]string{"USER": "ops1"}, append(args, "--config", path)...)
	}
	p := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	other := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	p.Ready(http.StatusOK)
	other.Ready(http.StatusOK)

	r := ask("cancel", "endless")
	require.Equal(t, workertest.Result{Code: 1, Stderr: "worker: endless: no tick runs or waits, so there is nothing to cancel\n"}, r)
	r = ask("cancel", "lead")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "a leader task starts again wherever its run ends: pause it to end it")

	r = ask("trigger", "endless")
	require.Equal(t, 0, r.Code, r.Stderr)
	id := strings.TrimSpace(r.Stdout)
	require.Eventually(t, func() bool { return strings.Contains(ask("why", "endless", id).Stdout, " has run it since ") }, workertest.Patience, 20*time.Millisecond)
	time.Sleep(300 * time.Millisecond) // until the shell has set its trap

	began := time.Now()
	r = ask("cancel", "endless", "--by", "ops7", "--wait", "--timeout", "30s")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Regexp(t, `^endless, tick of .*: cancelled on (first|second) after .*\n$`, r.Stdout)
	require.Less(t, time.Since(began), 2*time.Second, "before the lease would have run out")
	text, err := os.ReadFile(terms)
	require.NoError(t, err)
	require.Equal(t, "1\n", string(text), "the command had the chance to end in good order, once")

	require.Contains(t, ask("why", "endless", id).Stdout, "It was cancelled by ops7. ")
	require.Contains(t, ask("history", "endless").Stdout, "cancelled")
	settled := append(p.All("tick settled"), other.All("tick settled")...)
	require.Len(t, settled, 1)
	require.Equal(t, "cancelled", settled[0]["outcome"])
	require.Equal(t, "ops7", settled[0]["cancelled_by"])
	_, body := p.Get("/metrics")
	_, more := other.Get("/metrics")
	require.Contains(t, body+more, "solotick_ticks_total{job=\"endless\",outcome=\"cancelled\"} 1\n")

	r = ask("cancel", "endless", id, "--output", "json")
	require.Equal(t, 0, r.Code, "to repeat it changes nothing: %s", r.Stderr)
	var list []struct{ Status, ID string }
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &list))
	require.Equal(t, "settled", list[0].Status)
	require.Equal(t, id, list[0].ID)
}

func TestCancelledRunOfADeadWorkerStaysCancelled(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			path, _ := endless(t, server, "")
			ask := func(args ...string) workertest.Result {
				return workertest.Do(t, map[string]string{"USER": "ops1"}, append(args, "--config", path)...)
			}
			holder := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "holder")
			holder.Ready(http.StatusOK)
			id := strings.TrimSpace(ask("trigger", "endless").Stdout)
			holder.Await("run started", "job", "endless")
			other := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "other")
			other.Ready(http.StatusOK)

			holder.Signal(sig)
			r := ask("cancel", "endless", id, "--wait")
			require.Equal(t, 0, r.Code, r.Stderr)
			require.Contains(t, r.Stdout, "cancelled on holder")
			require.Regexp(t, `It was cancelled by ops1-at-.*, and its lease had ended`, ask("why", "endless", id).Stdout)
			if name == "frozen" {
				holder.Signal(syscall.SIGCONT)
				holder.Await("run lost", "job", "endless")
			}
			require.Empty(t, other.All("run started", "job", "endless"))
			require.Contains(t, ask("history", "endless").Stdout, "cancelled")
		})
	}
}

func TestCancelSaysWhichTicksAreOpen(t *testing.T) {
	s := newSite(t)
	r := s.ask("cancel", "sync-orders")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "no replica has ever served")
	s.contended("sync-orders")
	first := s.claim("sync-orders", s.begin+1000)
	c := protocol.Claim{Name: "sync-orders", Tick: s.begin + 2000, Holder: "r2", Request: "x", TTL: time.Minute}
	_, err := s.store.Claim(t.Context(), c)
	require.NoError(t, err)

	r = s.ask("cancel", "sync-orders")
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, "sync-orders: 2 ticks are open: name one of them, or cancel all with --all: ")
	r = s.ask("cancel", "sync-orders", fmt.Sprint(s.begin+1000))
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Regexp(t, `^sync-orders, tick of .*: cancelled; r1 is notified, and has at most (59|1m0).*s to end it\n$`, r.Stdout)
	r = s.ask("cancel", "sync-orders", fmt.Sprint(s.begin+1000), "--by", "ops9")
	require.Regexp(t, `: cancelled, by ops1-at-.*; r1 is notified`, r.Stdout)
	s.settle(first, "succeeded", wire.Note{})
	r = s.ask("cancel", "sync-orders", fmt.Sprint(s.begin+1000))
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "does not run or wait: see worker why sync-orders '")
	r = s.ask("cancel", "sync-orders", "--all")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Equal(t, 1, strings.Count(r.Stdout, "\n"))

	require.Contains(t, s.ask("cancel", "sync-orders", "02:00", "--all", "--timeout", "1s").Stderr,
		"--all: cancels every open tick of the job, so omit the TICK\n--timeout: needs --wait")
}

func TestWaitForAnOutcomeIsBounded(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"sync-orders": "a"}})
	r := s.ask("trigger", "sync-orders", "--wait", "--timeout", "300ms")
	require.Equal(t, 1, r.Code)
	require.Equal(t, "worker: sync-orders is not settled after 300ms: see worker why sync-orders\n", r.Stderr)
	require.Equal(t, 2, s.ask("trigger", "sync-orders", "--timeout", "1s").Code)
	require.Equal(t, 2, s.ask("trigger", "sync-orders", "--wait", "--timeout", "0s").Code)
}
