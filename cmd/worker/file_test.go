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

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/lease/sqlitelease"
)

// quickstart returns a copy of the first configuration, beside which a store can lie.
func quickstart(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/quickstart.yaml")
	require.NoError(t, err)
	return filetest.Config(t, string(text))
}

func TestKilledQuickstartGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	path := quickstart(t)
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	settled := first.Await("tick settled", "job", "hello", "outcome", "succeeded")
	require.Equal(t, 0, workertest.Do(t, nil, "pause", "environment", "--config", path, "--by", "ops", "--reason", "later").Code)
	first.Signal(syscall.SIGKILL)
	first.Exit()

	require.FileExists(t, strings.TrimSuffix(path, ".yaml")+".db")
	again := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "again")
	again.Await("tick settled", "job", "hello", "outcome", "succeeded")
	list := workertest.Outcomes(t, path, "hello")
	require.GreaterOrEqual(t, len(list), 2)
	token := float64(1 << 60)
	for _, o := range list {
		require.Less(t, o["token"], token, "tokens rise through the end of a process")
		token = o["token"].(float64)
	}
	require.Equal(t, "first", list[len(list)-1]["replica"])
	require.Empty(t, again.All("run started", "job", "hello", "tick", settled["tick"]), "it had run")
	require.Contains(t, workertest.Do(t, nil, "status", "--config", path).Stdout, "paused")
	require.Empty(t, again.All("run started", "job", "environment"))
}

func TestOneOfTwoWorkersOnAFileRunsEachTick(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	path := filetest.Config(t, `
store: {url: sqlite:shared.db}
lease: {ttl: 2s}
http: {addr: "127.0.0.1:0"}
jobs:
- name: note
  schedule: "@every 1s"
  misfire: all
  overlap: allow
  exec: {command: [sh, -c, 'echo $SOLOTICK_TICK $SOLOTICK_ATTEMPT >> `+out+`']}
`)
	workers := []*workertest.Process{workertest.Start(t, path, "--replica", "a"), workertest.Start(t, path, "--replica", "b")}
	ran := func() []string {
		text, err := os.ReadFile(out)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	await := func(n int) {
		require.Eventually(t, func() bool { return len(ran()) >= n }, workertest.Patience, 10*time.Millisecond)
	}
	await(3)
	workers[0].Signal(syscall.SIGKILL)
	workers[0].Exit()
	workers[0] = workertest.Start(t, path, "--replica", "a2")
	await(6)
	stopOutside(t, workers[1], filepath.Join(filepath.Dir(path), "shared.db"))
	await(9)
	workers[1].Signal(syscall.SIGCONT)
	await(10)
	seen := map[string]bool{}
	for _, line := range ran() {
		require.False(t, seen[line], "%s ran twice: %v", line, ran())
		seen[line] = true
	}
	require.FileExists(t, filepath.Join(filepath.Dir(path), "shared.db"))
	ticks, settled := map[any]bool{}, 0
	for _, o := range workertest.Outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
		if o["state"] == "settled" { // the newest may run still
			settled++
			require.Equal(t, "succeeded", o["outcome"], "%v", o)
		}
	}
	require.GreaterOrEqual(t, settled, 5)
}

// stopOutside stops a worker that has no lock on the file: one that has it holds up the others.
func stopOutside(t *testing.T, p *workertest.Process, file string) {
	t.Helper()
	probe, err := sqlitelease.New(file, "probe")
	require.NoError(t, err)
	defer func() { require.NoError(t, probe.Close()) }()
	require.Eventually(t, func() bool {
		p.Signal(syscall.SIGSTOP)
		if probe.Check(t.Context()) == nil {
			return true
		}
		p.Signal(syscall.SIGCONT)
		return false
	}, workertest.Patience, 10*time.Millisecond)
}

func TestDoctorChecksAFile(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, workertest.OneJob)
	file := strings.TrimSuffix(path, ".yaml") + ".db"
	r := workertest.Do(t, nil, "doctor", "--config", path)
	require.Equal(t, 0, r.Code)
	require.Contains(t, r.Stdout, "nothing has run")
	require.Contains(t, r.Stdout, "start a worker")
	require.NoFileExists(t, file, "a command makes none: it would be that of another user")

	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	p.Await("tick settled")
	r = workertest.Do(t, nil, "doctor", "--config", path, "--output", "json")
	var x doctor.Report
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &x))
	require.Equal(t, 0, r.Code, r.Stdout)
	require.Equal(t, file, x.Store)
	require.Empty(t, x.Redis)
	checks := map[string]string{}
	for _, f := range x.Checks {
		require.Contains(t, []doctor.Result{doctor.OK, doctor.Warn}, f.Result, "%+v", f)
		checks[f.Check] = f.Finding
	}
	require.Contains(t, checks["reachable"], file+" answers in")
	require.Contains(t, checks["room"], "are free on its disk")
	require.Equal(t, "this user may write", checks["writes"])
	require.Contains(t, checks["fleet"], "1 live replica")
	require.Equal(t, "the store's clock is that of this machine", checks["clock"])
}

func TestFlagNamesTheFile(t *testing.T) {
	t.Parallel()
	path, file := filetest.Config(t, "redis: {url: redis://127.0.0.1:1}\n"+workertest.OneJob), filepath.Join(t.TempDir(), "other.db")
	p := workertest.Start(t, path, "--http", "127.0.0.1:0", "--store", "sqlite:"+file)
	p.Await("tick settled")
	p.Ready(http.StatusOK)
	require.FileExists(t, file)
	require.Contains(t, workertest.Do(t, nil, "status", "--config", path, "--store", "sqlite:"+file).Stdout, "hello")
}

func TestMemoryWarnsThatItForgets(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "store: {url: 'memory:'}\n"+workertest.OneJob)
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	warning := p.Await("the store is in this process only: another worker runs the same ticks again, and a restart forgets them")
	require.Equal(t, "WARN", warning["level"])
	p.Await("tick settled")
	require.NoFileExists(t, strings.TrimSuffix(path, ".yaml")+".db")
}

func TestUnusableFileEndsTheStart(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "store: {url: sqlite:missing/solotick.db}\n"+workertest.OneJob)
	r := workertest.Do(t, nil, "run", "--config", path, "--http", "127.0.0.1:0")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, fmt.Sprintf("worker: sqlitelease: %s/missing/solotick.db: ", filepath.Dir(path)))
	require.Contains(t, r.Stderr, "no such file or directory; make the directory")
	require.NotContains(t, r.Stderr, "run started")
}

func TestTwoPlacesToMeetAreRefused(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "store: {url: sqlite:a.db}\nredis: {url: redis://h}\n"+workertest.OneJob)
	r := workertest.Do(t, nil, "validate", "--config", path)
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, path+":1:8: store: cannot be combined with redis")
	require.Contains(t, r.Stderr, path+":2:8: redis: cannot be combined with store")
	r = workertest.Do(t, nil, "status", "--config", filetest.Config(t, workertest.OneJob), "--store", "sqlite:a.db", "--redis", "redis://h")
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, "--store: cannot be combined with --redis")
}
