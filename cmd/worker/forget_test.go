package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/wire"
)

func TestForgetRemovesTheJobThatIsLeftOver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.contended("old-report", "sync-orders")
	s.settle(s.claim("old-report", s.begin+1000), "succeeded", wire.Note{})
	require.Contains(t, s.ask("status").Stdout, "left over: no replica serves it; to remove it: worker forget old-report")
	complete := func() string { return workertest.Do(t, nil, "__complete", "forget", "--config", s.path, "").Stdout }
	require.Equal(t, "old-report\n:4\n", complete())

	r := s.ask("forget", "old-report")
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, "--yes: needed where there is no terminal to ask in")
	require.Equal(t, workertest.Result{Stdout: "old-report is forgotten: its record and 1 outcome are removed\n"}, s.ask("forget", "old-report", "--yes", "--by", "ops7"))
	require.NotContains(t, s.ask("status").Stdout, "old-report")
	require.Equal(t, ":4\n", complete())

	for _, command := range [][]string{{"forget", "old-report", "-y"}, {"history", "old-report"}} { // as when the answer was lost
		r = s.ask(command...)
		require.Equal(t, 2, r.Code)
		require.Regexp(t, `"old-report" is not a job .* has no record of it; ops7 has removed its record at \d{4}-`, r.Stderr)
	}

	s.contended("old-report") // it is back
	require.Equal(t, "SCHEDULED  STARTED  ENDED  TOOK  REPLICA  TOKEN  ATTEMPT  OUTCOME  WHY\n", s.ask("history", "old-report").Stdout)
	why := s.ask("why", "old-report", time.UnixMilli(s.begin).UTC().Format(time.RFC3339))
	require.Contains(t, why.Stdout, "What the fleet had kept of this job until then, ops7 has removed at ")
	require.NotContains(t, s.ask("why", "sync-orders", time.UnixMilli(s.begin).UTC().Format(time.RFC3339)).Stdout, "ops7")

	var done struct {
		Job, By   string
		Outcomes  int
		Watermark time.Time
	}
	s.json(&done, "forget", "old-report", "--yes")
	require.Equal(t, "old-report", done.Job)
	require.Zero(t, done.Outcomes)
	require.True(t, done.Watermark.Equal(time.UnixMilli(s.begin)))
	require.True(t, strings.HasPrefix(done.By, "ops1-at-"), done.By)

	r = s.ask("forget", "sync-orders", "--yes")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "this configuration has the job")
}

func TestForgetRefusesAJobInUse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.contended("old-report")
	g := s.claim("old-report", s.begin+1000)
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"old-report": "a"}, JobCount: 1})
	r := s.ask("forget", "old-report", "--yes")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, `job "old-report" is in use, so nothing was removed: `+
		"r1 serves it: take it out of the configuration first; 1 tick is open: cancel what runs or waits first")
	s.settle(g, "succeeded", wire.Note{})
	require.Contains(t, s.ask("forget", "old-report", "--yes").Stderr, "so nothing was removed: r1 serves it")

	require.NoError(t, s.store.SendHeartbeat(t.Context(), "r1", []byte("of another version"), time.Minute))
	require.Contains(t, s.ask("forget", "old-report", "--yes").Stderr, "a live replica does not say which jobs it serves")

	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"sync-orders": "a"}, JobCount: 1})
	g = s.claim("old-report", s.begin+2000)
	require.NoError(t, s.store.Release(t.Context(), g))
	require.Contains(t, s.ask("forget", "old-report", "--yes").Stderr, "so nothing was removed: 1 tick is open: cancel what runs or waits first")
	require.Equal(t, 0, s.ask("cancel", "old-report").Code)
	r = s.ask("forget", "old-report", "--yes")
	require.Equal(t, workertest.Result{Stdout: "old-report is forgotten: its record and 2 outcomes are removed\n"}, r)
}

func TestForgottenFactIsKeptAsItIs(t *testing.T) {
	fact := fleet.Fact{Kind: wire.FactForgotten, Job: "old-report", By: "ops7", Token: 7, To: time.UnixMilli(5).UTC()}
	text, err := fleet.Marshal(fact)
	require.NoError(t, err)
	require.Contains(t, string(text), `"kind":"forgotten"`)
	require.Contains(t, string(text), `"job":"old-report"`)
	other := fact
	other.Job = "another"
	require.NotEqual(t, fact.Request(), other.Request())
}

func TestForgottenJobRunsWhenItsWorkerReturns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := "namespace: billing\nredis: {url: '" + s.server.URL() + "'}\nlease: {ttl: 1s}\nhttp: {addr: 127.0.0.1:0}\njobs:\n"
	path := filetest.Config(t, head+"- {name: tick-tock, schedule: '@every 1s', log: {message: x}, rate: 1/1h, overlap: allow}\n")
	stale := filetest.Config(t, head+"- {name: tick-tock, schedule: '@every 1s', log: {message: x}, overlap: allow}\n")
	elsewhere := filetest.Config(t, head+"- {name: sync-orders, schedule: '@every 1h', log: {message: x}}\n")
	ask := func(path string, args ...string) workertest.Result {
		return workertest.Do(t, map[string]string{"USER": "ops1"}, append(args, "--config", path)...)
	}

	p := workertest.Start(t, path, "--replica", "a")
	p.Await("tick settled", "job", "tick-tock")
	require.Equal(t, 0, ask(stale, "trigger", "tick-tock", "--wait", "--timeout", "1m").Code)
	r := ask(stale, "trigger", "tick-tock") // by a file that does not say the rate
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "refused: its rate is 1/1h with a burst of 1")
	r = ask(elsewhere, "forget", "tick-tock", "--yes")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "so nothing was removed: a serves it")

	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Exit())
	require.Contains(t, ask(elsewhere, "status").Stdout, "worker forget tick-tock")
	before, err := s.store.Inspect(t.Context(), "tick-tock")
	require.NoError(t, err)
	r = ask(elsewhere, "forget", "tick-tock", "--yes")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.NotContains(t, ask(elsewhere, "status").Stdout, "tick-tock")

	p = workertest.Start(t, path, "--replica", "b")
	p.Await("tick settled", "job", "tick-tock")
	after, err := s.store.Inspect(t.Context(), "tick-tock")
	require.NoError(t, err)
	require.Greater(t, after.Token, before.Token)
	require.Greater(t, after.Settled[0].Tick, before.Watermark, "nothing of the old record is left, and nothing was caught up")
	require.Equal(t, 0, ask(stale, "trigger", "tick-tock").Code, "the rate begins again")
}
