//go:build linux

package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// worker is a process that runs one command, by this package, under a lease that is not renewed.
type worker struct {
	process *osexec.Cmd
	lines   *bufio.Scanner
}

// orders are what a worker process is started with.
type orders struct {
	Command Command
	TTL     time.Duration
}

// outcome is the line that it prints in the end.
type outcome struct {
	Failed  bool
	Reason  string
	Dropped int
}

func workerMain() int {
	var o orders
	if err := json.Unmarshal([]byte(os.Args[2]), &o); err != nil {
		panic(err)
	}
	var logged logBuffer
	s := NewSupervisor([]string{"supervisor"}, WithLogger(logged.logger()))
	err := New(s, o.Command)(context.Background(), runUnder(leaseOf(o.TTL)))
	result := outcome{Failed: err != nil}
	if failed, ok := errors.AsType[*ExitError](err); ok {
		result.Reason = failed.Reason
	}
	for _, line := range logged.lines() {
		if _, count, found := strings.Cut(line, `"msg":"output dropped"`); found {
			_, count, _ = strings.Cut(count, `"lines":`)
			lines, _ := strconv.Atoi(strings.TrimRight(count, "}"))
			result.Dropped += lines
		}
	}
	text, _ := json.Marshal(result)
	fmt.Println(string(text))
	if err := s.Close(); err != nil {
		panic(err)
	}
	return 0
}

func startWorker(t *testing.T, o orders) *worker {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	w := &worker{process: osexec.Command(program, "worker", string(text))}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	w.process.Stderr = stderr
	w.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := w.process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, w.process.Start())
	w.lines = bufio.NewScanner(stdout)
	t.Cleanup(func() {
		_ = w.process.Process.Kill()
		_ = w.process.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(stderr.Name())
			t.Logf("the worker and its supervisor said:\n%s", said)
		}
		_ = stderr.Close()
	})
	return w
}

func (w *worker) signal(t *testing.T, s unix.Signal) {
	t.Helper()
	require.NoError(t, w.process.Process.Signal(s))
}

func (w *worker) outcome(t *testing.T) outcome {
	t.Helper()
	said := make(chan outcome, 1)
	go func() {
		var o outcome
		if w.lines.Scan() {
			_ = json.Unmarshal(w.lines.Bytes(), &o)
		}
		said <- o
	}()
	select {
	case o := <-said:
		return o
	case <-time.After(bound):
		require.Fail(t, "the worker did not say how its run ended")
		return outcome{}
	}
}

func (w *worker) supervisorPID(t *testing.T) int {
	t.Helper()
	pids := childrenOf(t, w.process.Process.Pid)
	require.Len(t, pids, 1, "the supervisor is the worker's only child")
	return pids[0]
}

func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(line), ") Z ")
	}, bound, time.Millisecond, "process %d lives on", pid)
}

func TestEverythingDiesWithTheWorker(t *testing.T) {
	for name, kill := range map[string]func(t *testing.T, w *worker){
		"killed":             func(t *testing.T, w *worker) { w.signal(t, unix.SIGKILL) },
		"crashed":            func(t *testing.T, w *worker) { w.signal(t, unix.SIGSEGV) },
		"killed by group":    func(t *testing.T, w *worker) { require.NoError(t, unix.Kill(-w.process.Process.Pid, unix.SIGKILL)) },
		"killed when frozen": func(t *testing.T, w *worker) { w.signal(t, unix.SIGSTOP); w.signal(t, unix.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			life := newLifeline(t)
			c := shell(life, `trap '' TERM HUP INT; `+family+`echo up >&9; wait`)
			c.KillGrace = time.Hour
			w := startWorker(t, orders{c, time.Hour})
			life.await(t, "up")
			supervisor := w.supervisorPID(t)

			killed := time.Now()
			kill(t, w)
			died := life.awaitEnd(t)
			t.Logf("everything was dead after %s", died.Sub(killed))
			require.Less(t, died.Sub(killed), slack)
			awaitDeath(t, supervisor)
		})
	}
}

func TestSupervisorIgnoresSignalsThatStopAService(t *testing.T) {
	life := newLifeline(t)
	w := startWorker(t, orders{shell(life, `echo up >&9; `+waiting+`echo $(trap) done >&9`), time.Hour})
	life.await(t, "up")
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		require.NoError(t, unix.Kill(w.supervisorPID(t), s))
	}
	life.release(t)
	life.await(t, "done")
	require.Equal(t, outcome{}, w.outcome(t))
}

func TestFrozenWorkersRunDiesByItsDeadline(t *testing.T) {
	t.Parallel()
	life := newLifeline(t)
	const term = 16 * time.Second
	began := time.Now()
	c := shell(life, family+stubborn)
	c.KillGrace = time.Hour
	w := startWorker(t, orders{c, term})
	life.await(t, "up")
	w.signal(t, unix.SIGSTOP)
	ready := time.Now()

	terminated := life.await(t, "terminated")
	require.True(t, terminated.Before(began.Add(term)))
	died := life.awaitEnd(t)
	require.WithinRange(t, died, began.Add(term), ready.Add(term+slack))

	w.signal(t, unix.SIGCONT)
	require.Equal(t, outcome{Failed: true, Reason: protocol.ReasonDeadline}, w.outcome(t))
}

func TestGroupLeaderDiesWithItsSupervisor(t *testing.T) {
	life := newLifeline(t)
	w := startWorker(t, orders{shell(life, `echo up >&9; exec sleep 1000`), time.Hour})
	life.await(t, "up")
	supervisor := w.supervisorPID(t)
	w.signal(t, unix.SIGSTOP) // so that it cannot help
	require.NoError(t, unix.Kill(supervisor, unix.SIGKILL))
	life.awaitEnd(t)
}

func TestFloodUnderAFrozenWorkerIsDropped(t *testing.T) {
	life := newLifeline(t)
	line := strings.Repeat("x", 99)
	c := shell(life, `echo up >&9; `+waiting+`yes `+line+` | head -c 100000000; echo flooded >&9`)
	w := startWorker(t, orders{c, time.Hour})
	life.await(t, "up")
	supervisor := w.supervisorPID(t)
	w.signal(t, unix.SIGSTOP)
	life.release(t)
	life.await(t, "flooded") // so nothing waited for the worker
	life.awaitEnd(t)

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", supervisor))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	require.Less(t, kib, 96<<10, "KiB of memory at the highest")
	t.Logf("supervisor: %d KiB", kib)

	w.signal(t, unix.SIGCONT)
	o := w.outcome(t)
	require.False(t, o.Failed)
	require.Greater(t, o.Dropped, 900_000, "lines, of a million")
	require.Less(t, o.Dropped, 1_000_000)
}
