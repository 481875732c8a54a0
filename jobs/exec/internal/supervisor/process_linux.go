package supervisor

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// prepareProcess makes this process the parent of its descendants' orphans.
func prepareProcess() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	// Its program is /proc/self/exe, so it would be listed as "exe". Only a name, so it may fail.
	_ = os.WriteFile("/proc/self/comm", []byte("solotick-super"), 0)
	return nil
}

func commandAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reapGroupLeader reaps a group leader that has ended, after killing the rest of its group. Until
// it is reaped, no other process or group can have its number.
func reapGroupLeader(pid int) (status syscall.WaitStatus, ended bool) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil); err != nil || info.Signo == 0 {
		return 0, false
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	reaped, _ := syscall.Wait4(pid, &status, 0, nil)
	return status, reaped == pid
}
