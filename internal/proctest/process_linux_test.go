package proctest_test

import (
	"bufio"
	"errors"
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

	"github.com/solotick/solotick/internal/proctest"
)

const bound = 30 * time.Second

// startAndWait makes this test binary start a process, print its id, and wait to be killed.
const startAndWait = "PROCTEST_START_AND_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(startAndWait) != "" {
		proctest.FollowGo()
		p, err := proctest.Start(exec.Command("sleep", "3600"))
		if err != nil {
			panic(err)
		}
		fmt.Println(p.Pid())
		select {}
	}
	os.Exit(m.Run())
}

// gone reports that a process has ended, whether or not its parent has noticed.
func gone(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return errors.Is(err, os.ErrNotExist) || strings.Contains(string(state), ") Z ")
}

func start(t *testing.T, name string, args ...string) *proctest.Process {
	t.Helper()
	p, err := proctest.Start(exec.Command(name, args...))
	require.NoError(t, err)
	t.Cleanup(func() { p.Kill() })
	return p
}

func TestAFrozenProcessCanBeThawedAndKilled(t *testing.T) {
	p := start(t, "sleep", "3600")
	require.NoError(t, p.Freeze())
	require.NoError(t, p.Thaw())
	require.NoError(t, p.Freeze())
	require.True(t, p.Kill())
	require.True(t, gone(p.Pid()))
	require.False(t, p.EndedBy(syscall.SIGTERM))
	require.ErrorIs(t, p.Freeze(), os.ErrProcessDone)
}

func TestAProcessThatEndedWasNotKilled(t *testing.T) {
	p := start(t, "false")
	<-p.Done()
	require.Error(t, p.Err())
	require.False(t, p.Kill())
	_, err := proctest.Start(exec.Command(filepath.Join(t.TempDir(), "missing")))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The shell takes the place of the go command: what counts is a process of that name.
func TestProcessesEndWithTheGoCommand(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	text, err := os.ReadFile(shell)
	require.NoError(t, err)
	goCommand := filepath.Join(t.TempDir(), "go")
	require.NoError(t, os.WriteFile(goCommand, text, 0o700))
	parent := exec.Command(goCommand, "-c", `"$0" & wait`, os.Args[0])
	parent.Env = append(os.Environ(), startAndWait+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	p, err := proctest.Start(parent)
	require.NoError(t, err)
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	child, err := strconv.Atoi(lines.Text())
	require.NoError(t, err)
	require.False(t, gone(child))

	p.Kill()

	require.Eventually(t, func() bool { return gone(child) }, bound, 5*time.Millisecond)
}
