package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

// subreaperCommand makes the test binary a subreaper that becomes another program.
const subreaperCommand = "as-subreaper"

func init() {
	if len(os.Args) < 3 || os.Args[1] != subreaperCommand {
		return
	}
	args := os.Args[2:]
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	panic(syscall.Exec(args[0], args, os.Environ()))
}

// asFirst returns a command that runs the worker as the first process of a PID namespace, or, where
// this machine allows none, as a subreaper: orphans come to it too.
func asFirst(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{workertest.Program(t)}, args...)
	namespace := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if exec.Command("unshare", append(namespace, "true")...).Run() == nil {
		return exec.Command("unshare", append(namespace, args...)...)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	return exec.Command(self, append([]string{subreaperCommand}, args...)...)
}

func childrenOf(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for field := range strings.FieldsSeq(string(list)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	return pids
}

// nameOf returns the name of a process, and whether it has ended and waits to be reaped.
func nameOf(pid int) (name string, zombie bool) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	name, rest, _ := strings.Cut(strings.TrimPrefix(string(status), "Name:\t"), "\n")
	return name, strings.Contains(rest, "State:\tZ")
}

// TestWorkerThatIsTheFirstProcessReapsOrphans kills the supervisor, so that what escaped from a
// command comes to the worker.
func TestWorkerThatIsTheFirstProcessReapsOrphans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filetest.Config(t, fmt.Sprintf(`
jobs:
- name: leaves-orphans
  schedule: "@every 1s"
  retry: {max_attempts: 1}
  exec:
    command: [sh, -c, "for i in 1 2 3; do env -i setsid sh -c ': >%[1]s/up$0; until [ -e %[1]s/end ]; do sleep 0.05; done' $i & done; sleep 1000"]
`, dir))
	cmd := asFirst(t, "run", "--config", path, "--http", "127.0.0.1:0", "--log-format", "json")
	p := workertest.Watch(t, cmd)
	up := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	}
	for i := range 3 { // what has not left the command's session yet dies with the supervisor
		require.Eventually(t, up(fmt.Sprint("up", i+1)), workertest.Patience, 10*time.Millisecond)
	}

	worker := cmd.Process.Pid
	if name, _ := nameOf(worker); name == "unshare" {
		require.Len(t, childrenOf(worker), 1)
		worker = childrenOf(worker)[0]
	}
	var supervisor int
	for _, pid := range childrenOf(worker) {
		if name, _ := nameOf(pid); name == "solotick-super" {
			supervisor = pid
		}
	}
	require.NotZero(t, supervisor)
	require.NoError(t, unix.Kill(supervisor, unix.SIGKILL))

	orphans := func() (list []int) {
		for _, pid := range childrenOf(worker) {
			if name, _ := nameOf(pid); name == "sh" {
				list = append(list, pid)
			}
		}
		return list
	}
	require.Eventually(t, func() bool { return len(orphans()) >= 3 }, workertest.Patience, 10*time.Millisecond, "they come to the worker")
	p.Await("tick settled", "outcome", "failed") // the worker has waited for its supervisor itself
	require.Contains(t, p.Text(), "its process ended unexpectedly: signal: killed", "and nobody took its exit status")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "end"), nil, 0o600))
	require.Eventually(t, func() bool {
		for _, pid := range childrenOf(worker) {
			if name, zombie := nameOf(pid); zombie || name == "sh" {
				return false
			}
		}
		return true
	}, workertest.Patience, 50*time.Millisecond, "nothing is left of them")

	require.NoError(t, unix.Kill(worker, unix.SIGKILL))
	<-p.Ended
}
