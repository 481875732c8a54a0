//go:build linux

package supervisor

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKillReachesTheWholeGroupAtOnce(t *testing.T) {
	// All processes of the group hold the pipe open: its end proves that they are dead.
	r, w, err := os.Pipe()
	require.NoError(t, err)
	leader := exec.Command("/bin/sh", "-c", "sleep 1000 & echo up; wait")
	leader.Stdout = w
	leader.SysProcAttr = commandAttr()
	require.NoError(t, leader.Start())
	require.NoError(t, w.Close())
	up := make([]byte, 3)
	_, err = io.ReadFull(r, up)
	require.NoError(t, err)
	killGroup(leader.Process.Pid)
	_, err = io.ReadAll(r)
	require.NoError(t, err) // although the group leader is not reaped
	require.Error(t, leader.Wait())
	require.NoError(t, r.Close())
}
