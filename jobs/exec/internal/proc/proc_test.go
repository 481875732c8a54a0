//go:build linux

package proc

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// child starts a process that waits for the end of the test.
func child(t *testing.T, tag string) int {
	t.Helper()
	c := exec.Command("/bin/cat")
	c.Env = append(os.Environ(), protocol.TagVariable+"="+tag)
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _, _ = stdin.Close(), c.Wait() })
	return c.Process.Pid
}

func TestBothWaysToListChildrenAgree(t *testing.T) {
	pid := child(t, "x/1")
	require.Contains(t, Children(), pid)
	require.Contains(t, childrenByScan(), pid)
	require.NotContains(t, Children(), 1)
}

func TestProcessesAreDatedByTheBootClock(t *testing.T) {
	before := bootclock.Now()
	parent, started := Stat(child(t, "x/1"))
	require.Equal(t, os.Getpid(), parent)
	require.GreaterOrEqual(t, started.Add(StartGrain), before)
	require.LessOrEqual(t, started, bootclock.Now())
}

func TestOnlyTaggedProcessesAreKilled(t *testing.T) {
	spared, killed := child(t, "one/1"), child(t, "two/1")
	require.Equal(t, "two/1", TagOf(killed))
	require.Equal(t, 1, killTagged("two/"))
	require.Equal(t, "one/1", TagOf(spared))
}
