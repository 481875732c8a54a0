package supervisor

import (
	"fmt"
	"net"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// Socket is the descriptor on which a supervisor finds the connection to its worker.
const Socket = 3

// Main serves the worker that started this process until that is gone, kills everything that it has
// started, and returns the exit code of the process.
func Main() int {
	s, err := begin()
	if err != nil {
		fmt.Fprintln(os.Stderr, "supervisor:", err)
		return 1
	}
	return s.loop()
}

func begin() (*supervisor, error) {
	conn, err := inheritedConn()
	if err != nil {
		return nil, err
	}
	// Caught and dropped rather than ignored: commands would inherit that a signal is ignored.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	childEnded := make(chan os.Signal, 1)
	signal.Notify(childEnded, unix.SIGCHLD)
	if err := prepareProcess(); err != nil {
		return nil, err
	}
	alarm, err := newAlarm()
	if err != nil {
		return nil, err
	}
	launcher, err := newLauncher()
	if err != nil {
		return nil, err
	}
	s := &supervisor{
		requests:   make(chan protocol.Request),
		childEnded: childEnded,
		alarm:      alarm,
		launcher:   launcher,
		drained:    make(chan *run),
		inspected:  make(chan []orphan, 1),
		outbox:     newOutbox(),
		runs:       make(map[uint64]*run),
	}
	go func() {
		defer close(s.requests) // the worker is gone
		protocol.Receive(conn, func(r protocol.Request) { s.requests <- r })
	}()
	go s.outbox.Send(conn, nil, s.outbox.sent) // loop sees by itself that the worker is gone
	return s, nil
}

// inheritedConn returns the connection that the worker has given this process.
func inheritedConn() (net.Conn, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(Socket, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("descriptor %d is no socket: only a worker can start this command", Socket)
	}
	unix.CloseOnExec(Socket)
	file := os.NewFile(Socket, "worker")
	defer func() { _ = file.Close() }() // FileConn has a copy, closed on exec
	return net.FileConn(file)
}
