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
	"github.com/solotick/solotick/lease/sqlitelease"
)

// quickstart returns a copy of the first configuration, beside which a store can lie.
func quickstart(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/quickstart.yaml")
	require.NoError(t, err)
	return filetest.Config(t, string(text))
}

// warnings are the lines of the log at level WARN and above.
func (p *process) warnings() (list []record) {
	for _, r := range p.records() {
		if r["level"] == "WARN" || r["level"] == "ERROR" {
			list = append(list, r)
		}
	}
	return list
}

// outcomes are the settled ticks of a job, newest first, as history prints them.
func outcomes(t *testing.T, path, job string) (list []map[string]any) {
	t.Helper()
	r := do(t, nil, "history", job, "--config", path, "--output", "json")
	require.Equal(t, 0, r.code, r.stderr)
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &list))
	return list
}

func TestKilledQuickstartGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	path := quickstart(t)
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	settled := first.await("tick settled", "job", "hello", "outcome", "succeeded")
	require.Equal(t, 0, do(t, nil, "pause", "environment", "--config", path, "--by", "ops", "--reason", "later").code)
	first.signal(syscall.SIGKILL)
	first.exit()

	require.FileExists(t, strings.TrimSuffix(path, ".yaml")+".db")
	again := start(t, path, "--http", "127.0.0.1:0", "--replica", "again")
	again.await("tick settled", "job", "hello", "outcome", "succeeded")
	list := outcomes(t, path, "hello")
	require.GreaterOrEqual(t, len(list), 2)
	token := float64(1 << 60)
	for _, o := range list {
		require.Less(t, o["token"], token, "tokens rise through the end of a process")
		token = o["token"].(float64)
	}
	require.Equal(t, "first", list[len(list)-1]["replica"])
	require.Empty(t, again.all("run started", "job", "hello", "tick", settled["tick"]), "it had run")
	require.Contains(t, do(t, nil, "status", "--config", path).stdout, "paused")
	require.Empty(t, again.all("run started", "job", "environment"))
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
	workers := []*process{start(t, path, "--replica", "a"), start(t, path, "--replica", "b")}
	ran := func() []string {
		text, err := os.ReadFile(out)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	await := func(n int) {
		require.Eventually(t, func() bool { return len(ran()) >= n }, patience, 10*time.Millisecond)
	}
	await(3)
	workers[0].signal(syscall.SIGKILL)
	workers[0].exit()
	workers[0] = start(t, path, "--replica", "a2")
	await(6)
	stopOutside(t, workers[1], filepath.Join(filepath.Dir(path), "shared.db"))
	await(9)
	workers[1].signal(syscall.SIGCONT)
	await(10)
	seen := map[string]bool{}
	for _, line := range ran() {
		require.False(t, seen[line], "%s ran twice: %v", line, ran())
		seen[line] = true
	}
	require.FileExists(t, filepath.Join(filepath.Dir(path), "shared.db"))
	ticks, settled := map[any]bool{}, 0
	for _, o := range outcomes(t, path, "note") {
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
func stopOutside(t *testing.T, p *process, file string) {
	t.Helper()
	probe, err := sqlitelease.New(file, "probe")
	require.NoError(t, err)
	defer func() { require.NoError(t, probe.Close()) }()
	require.Eventually(t, func() bool {
		p.signal(syscall.SIGSTOP)
		if probe.Check(t.Context()) == nil {
			return true
		}
		p.signal(syscall.SIGCONT)
		return false
	}, patience, 10*time.Millisecond)
}

func TestDoctorChecksAFile(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, oneJob)
	file := strings.TrimSuffix(path, ".yaml") + ".db"
	r := do(t, nil, "doctor", "--config", path)
	require.Equal(t, 0, r.code)
	require.Contains(t, r.stdout, "nothing has run")
	require.Contains(t, r.stdout, "start a worker")
	require.NoFileExists(t, file, "a command makes none: it would be that of another user")

	p := start(t, path, "--http", "127.0.0.1:0")
	p.await("tick settled")
	r = do(t, nil, "doctor", "--config", path, "--output", "json")
	var x doctor.Report
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &x))
	require.Equal(t, 0, r.code, r.stdout)
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
	path, file := filetest.Config(t, "redis: {url: redis://127.0.0.1:1}\n"+oneJob), filepath.Join(t.TempDir(), "other.db")
	p := start(t, path, "--http", "127.0.0.1:0", "--store", "sqlite:"+file)
	p.await("tick settled")
	p.ready(http.StatusOK)
	require.FileExists(t, file)
	require.Contains(t, do(t, nil, "status", "--config", path, "--store", "sqlite:"+file).stdout, "hello")
}

func TestMemoryWarnsThatItForgets(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "store: {url: 'memory:'}\n"+oneJob)
	p := start(t, path, "--http", "127.0.0.1:0")
	warning := p.await("the store is in this process only: another worker runs the same ticks again, and a restart forgets them")
	require.Equal(t, "WARN", warning["level"])
	p.await("tick settled")
	require.NoFileExists(t, strings.TrimSuffix(path, ".yaml")+".db")
}

func TestUnusableFileEndsTheStart(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "store: {url: sqlite:missing/solotick.db}\n"+oneJob)
	r := do(t, nil, "run", "--config", path, "--http", "127.0.0.1:0")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, fmt.Sprintf("worker: sqlitelease: %s/missing/solotick.db: ", filepath.Dir(path)))
	require.Contains(t, r.stderr, "no such file or directory; make the directory")
	require.NotContains(t, r.stderr, "run started")
}

func TestTwoPlacesToMeetAreRefused(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "store: {url: sqlite:a.db}\nredis: {url: redis://h}\n"+oneJob)
	r := do(t, nil, "validate", "--config", path)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, path+":1:8: store: cannot be combined with redis")
	require.Contains(t, r.stderr, path+":2:8: redis: cannot be combined with store")
	r = do(t, nil, "status", "--config", filetest.Config(t, oneJob), "--store", "sqlite:a.db", "--redis", "redis://h")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "--store: cannot be combined with --redis")
}
