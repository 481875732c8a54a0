package exec

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketPair returns the worker's end of a new connection, and the supervisor's. No other process
// inherits either: a stranger that held the worker's end open would hide the worker's death from
// the supervisor.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // not every system can create them closed on exec
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("create a socket pair: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "supervisor")
	file := os.NewFile(uintptr(fds[0]), "worker")
	defer func() { _ = file.Close() }() // FileConn has a copy, closed on exec
	conn, err := net.FileConn(file)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}
