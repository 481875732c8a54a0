package exec

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// GuardMain is all that a guard process does: it serves the worker that started it (see [NewGuard]) until that worker is
// gone or closes its [Guard], kills everything that it has started for it, and returns the process's exit code: 0, or 1
// if something would not die or the guard could not begin, which it explains on standard error. It changes the whole
// process, so call it in place of everything else.
func GuardMain() int {
	w, err := newWatch()
	if err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		return 1
	}
	return w.loop()
}

func newWatch() (*watch, error) {
	conn, err := inheritedConn()
	if err != nil {
		return nil, err
	}
	// Caught and forgotten rather than ignored, because commands would inherit that they are ignored.
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
	w := &watch{
		requests:   make(chan request),
		childEnded: childEnded,
		alarm:      alarm,
		launcher:   launcher,
		drained:    make(chan *charge),
		inspected:  make(chan []trait, 1),
		outbox:     newOutbox(),
		charges:    make(map[uint64]*charge),
	}
	go readRequests(conn, w.requests)
	go w.outbox.write(conn)
	return w, nil
}

// readRequests passes requests on until the connection ends: then the worker is gone, and requests is closed.
func readRequests(conn io.Reader, requests chan<- request) {
	defer close(requests)
	decoder := gob.NewDecoder(bufio.NewReader(conn))
	for {
		var r request
		if decoder.Decode(&r) != nil {
			return
		}
		requests <- r
	}
}
