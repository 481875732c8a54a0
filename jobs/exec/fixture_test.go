//go:build linux

package exec

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/proc"
)

// bound is how long anything may take that has no time of its own. It is never waited for in a test
// that passes.
const bound = 30 * time.Second

// openSupervisor returns a supervisor that is closed with the test, and must end cleanly: a data
// race in it would show there.
func openSupervisor(t *testing.T, options ...Option) *Supervisor {
	t.Helper()
	s := NewSupervisor([]string{"supervisor"}, options...)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// openWarmSupervisor returns a supervisor whose process has started, so that no short lease has to
// wait for that.
func openWarmSupervisor(t *testing.T) *Supervisor {
	t.Helper()
	s := openSupervisor(t)
	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Hour))))
	return s
}

func supervisorPID(s *Supervisor) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return -1
	}
	return s.conn.process.Process.Pid
}

// shell is a command that runs a script, in which descriptor 9 is life's, inherited by everything
// it starts.
func shell(life *lifeline, script string) Command {
	c := Command{Args: []string{"/bin/sh", "-c", script}, KillGrace: 5 * time.Second}
	if life != nil {
		c.Env = map[string]string{"LIFE": life.path}
		c.Args[2] = `exec 9>"$LIFE"; echo >&9; ` + script
	}
	return c
}

// do calls the handler in a goroutine, and returns what it returned.
func do(ctx context.Context, s *Supervisor, c Command, lease jobs.Lease) (result <-chan error) {
	ended := make(chan error, 1)
	go func() { ended <- New(s, c)(ctx, runUnder(lease)) }()
	return ended
}

func await(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(bound):
		require.Fail(t, "the handler did not return")
		return nil
	}
}

func awaitExitError(t *testing.T, result <-chan error) *ExitError {
	t.Helper()
	var failed *ExitError
	require.ErrorAs(t, await(t, result), &failed)
	return failed
}

// lifeline is a named pipe that the processes of a run hold open: what they write are lines with a
// time, and its end proves that all of them are dead, at that moment.
type lifeline struct {
	path  string
	lines chan word
	ended chan time.Time
}

type word struct {
	text string
	at   time.Time
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{
		path:  filepath.Join(t.TempDir(), "life"),
		lines: make(chan word, 1000),
		ended: make(chan time.Time, 1),
	}
	require.NoError(t, unix.Mkfifo(l.path, 0o600))
	require.NoError(t, unix.Mkfifo(l.path+".silence", 0o600))
	file, err := os.OpenFile(l.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.read(file)
	}()
	t.Cleanup(func() {
		_ = file.Close()
		<-done
	})
	return l
}

// waiting is a piece of script that waits for release.
const waiting = `while [ ! -e "$LIFE.go" ]; do sleep 0.02; done; `

func (l *lifeline) release(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(l.path+".go", nil, 0o600))
}

func (l *lifeline) read(file *os.File) {
	r := bufio.NewReader(file)
	for born := false; ; {
		line, err := r.ReadString('\n')
		switch {
		case err == nil:
			born = true
			if text := strings.TrimSpace(line); text != "" {
				l.lines <- word{text, time.Now()}
			}
		case err == io.EOF && !born: // nobody has opened it yet
			time.Sleep(time.Millisecond)
		case err == io.EOF:
			l.ended <- time.Now()
			close(l.lines)
			return
		default:
			return
		}
	}
}

func (l *lifeline) await(t *testing.T, text string) time.Time {
	t.Helper()
	select {
	case w, ok := <-l.lines:
		require.True(t, ok, "the command ended without saying %s", text)
		require.Equal(t, text, w.text)
		return w.at
	case <-time.After(bound):
		require.Fail(t, "the command did not say "+text)
		return time.Time{}
	}
}

func (l *lifeline) awaitEnd(t *testing.T) time.Time {
	t.Helper()
	select {
	case at := <-l.ended:
		return at
	case <-time.After(bound):
		require.Fail(t, "processes of the run live on")
		return time.Time{}
	}
}

func (l *lifeline) requireAlive(t *testing.T) {
	t.Helper()
	select {
	case <-l.ended:
		require.Fail(t, "the processes of the run have ended")
	default:
	}
}

// logBuffer is a logger's destination.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.b.String()), "\n")
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

// childrenOf lists another process's children, ended ones included.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	var found []int
	for _, p := range proc.Processes() {
		if parent, _ := proc.Stat(p); parent == pid {
			found = append(found, p)
		}
	}
	return found
}

// orphans counts the children of the supervisor process that execute sleep: a group leader is a
// shell in these tests.
func orphans(t *testing.T, s *Supervisor) (found int) {
	t.Helper()
	for _, pid := range childrenOf(t, supervisorPID(s)) {
		if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(comm) == "sleep\n" {
			found++
		}
	}
	return found
}

// awaitReaped waits until the supervisor process has no children: those that are dead are zombies
// for a moment.
func awaitReaped(t *testing.T, s *Supervisor) {
	t.Helper()
	require.Eventually(t, func() bool { return len(childrenOf(t, supervisorPID(s))) == 0 }, bound, time.Millisecond)
}

func awaitOrphans(t *testing.T, s *Supervisor, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return orphans(t, s) == n }, bound, time.Millisecond)
}
