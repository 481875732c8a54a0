//go:build unix && !linux

package supervisor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func prepareProcess() error { return nil }

// reapGroupLeader reaps a group leader that has ended, and kills the rest of its group right after.
func reapGroupLeader(pid int) (status syscall.WaitStatus, ended bool) {
	if reaped, _ := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); reaped != pid {
		return 0, false
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	return status, true
}
