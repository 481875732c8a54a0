package exec

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardSocket is the descriptor on which a guard process finds the connection to its worker.
const guardSocket = 3

// socketPair returns the worker's end of a new connection, and the guard's. No other process inherits either: a
// stranger that held the worker's end open would hide the worker's death from the guard.
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
	theirs = os.NewFile(uintptr(fds[1]), "guard")
	ours, err = unixConn(fds[0])
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// inheritedConn returns the connection that the worker has given this process.
func inheritedConn() (*net.UnixConn, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(guardSocket, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("descriptor %d is no socket: a worker starts this command, it is of no use by hand", guardSocket)
	}
	unix.CloseOnExec(guardSocket)
	return unixConn(guardSocket)
}

// unixConn takes over fd.
func unixConn(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "worker")
	defer func() { _ = file.Close() }() // FileConn has a copy, closed on exec
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}
