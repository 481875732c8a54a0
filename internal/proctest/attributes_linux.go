package proctest

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func endWithParent(a *syscall.SysProcAttr, by syscall.Signal) { a.Pdeathsig = by }

// stopped reports, once for each time, that the child has come to a standstill after SIGSTOP, which
// takes effect a moment after it was sent.
func stopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}
