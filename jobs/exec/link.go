package exec

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/internal/eventqueue"
	"github.com/solotick/solotick/jobs"
)

// farewell is how long a guard process may take to end after its connection has.
const farewell = 10 * time.Second

// link is the worker's end of the connection to one guard process, with the runs in that process's care. It has two
// goroutines, write and read; both end when the process has.
type link struct {
	process *osexec.Cmd
	conn    *net.UnixConn
	logger  *slog.Logger
	lines   *eventqueue.Queue[logLine] // to the logger, which may be slow
	nonce   string                     // tells the runs of this guard process from those of any other
	wake    chan struct{}              // of size 1: there is something to write
	gone    chan struct{}              // closed when the process has ended and every run with it

	mu         sync.Mutex
	requests   []request
	extensions map[uint64]instant // the newest of each run: an unread one is superseded, not queued
	wards      map[uint64]*ward   // the runs whose end was not reported
	last       uint64             // run
	closing    bool
	lost       bool // the process has ended or must: no more runs
}

// newLink starts a guard process.
func newLink(args []string, logger *slog.Logger, goroutines *sync.WaitGroup) (*link, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // the process has a copy by then
	l := &link{
		conn: ours, logger: logger, nonce: rand.Text(),
		wake: make(chan struct{}, 1), gone: make(chan struct{}),
		extensions: make(map[uint64]instant), wards: make(map[uint64]*ward),
	}
	l.lines = eventqueue.New(outboxBytes, logLine.size, logLine.log, func(dropped int) logLine {
		return logLine{logger: logger, dropped: dropped}
	}, func(any) {})
	program, err := thisProgram()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	l.process = &osexec.Cmd{
		Path:        program,
		Args:        append([]string{os.Args[0]}, args...),
		Stderr:      os.Stderr, // where a panic of the guard is read
		ExtraFiles:  []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of what is sent to the worker's group or terminal
	}
	if err := started.start(l.process); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	goroutines.Go(l.write)
	goroutines.Go(l.read)
	return l, nil
}

// start queues the start of a run. It returns nil if the link takes no more runs.
func (l *link) start(run jobs.Run, deadline instant, grace time.Duration, command func(mark string) *start) *ward {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return nil
	}
	l.last++
	w := &ward{link: l, id: l.last, run: run, ended: make(chan struct{}), logged: make(chan struct{})}
	l.wards[w.id] = w
	s := command(w.mark())
	if s.Log = l.logger != nil && l.logger.Enabled(context.Background(), slog.LevelInfo); s.Log {
		w.logger = l.logger.With("job", run.Job, "tick", tickTime(run))
	}
	l.requests = append(l.requests, request{Verb: verbStart, Run: w.id, Start: s, Deadline: deadline, Grace: grace})
	l.notifyLocked()
	return w
}

func (l *link) notifyLocked() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns what is to be written. Extensions come last: the start of their run may be among the requests.
func (l *link) take() []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	requests := l.requests
	l.requests = nil
	for id, deadline := range l.extensions {
		if l.wards[id] != nil {
			requests = append(requests, request{Verb: verbExtend, Run: id, Deadline: deadline})
		}
	}
	clear(l.extensions)
	return requests
}

func (l *link) write() {
	w := bufio.NewWriter(l.conn)
	encoder := gob.NewEncoder(w)
	for {
		select {
		case <-l.gone:
			return
		case <-l.wake:
		}
		for _, r := range l.take() {
			if encoder.Encode(r) != nil {
				return // read sees the end of the connection too
			}
		}
		if w.Flush() != nil {
			return
		}
	}
}

// read serves the reports until the connection ends, and then ends what is left.
func (l *link) read() {
	decoder := gob.NewDecoder(bufio.NewReader(l.conn))
	for {
		var r report
		if decoder.Decode(&r) != nil {
			break
		}
		l.serve(r)
	}
	l.bury()
}

func (l *link) serve(r report) {
	l.mu.Lock()
	w := l.wards[r.Run]
	if w != nil && r.PID != 0 {
		w.pid = r.PID
	}
	if r.End != nil {
		delete(l.wards, r.Run)
	}
	l.mu.Unlock()

	if w == nil {
		return
	}
	if r.Stream != "" {
		l.lines.Put(logLine{logger: w.logger, dropped: r.Dropped, stream: r.Stream, text: r.Line})
	}
	if r.End != nil {
		if w.logger == nil || !l.lines.Put(logLine{logger: w.logger, dropped: r.End.Dropped, last: w.logged}) {
			close(w.logged)
		}
		w.end = r.End
		close(w.ended)
	}
}

// bury ends what a guard process may have left, once its connection has ended: its runs' groups first, for the kernel
// has killed their leaders only; then whatever carries its mark.
func (l *link) bury() {
	l.mu.Lock()
	l.lost = true
	for _, w := range l.wards {
		if w.pid != 0 {
			_ = unix.Kill(-w.pid, unix.SIGKILL)
		}
	}
	closing := l.closing
	l.mu.Unlock()

	impatience := time.AfterFunc(farewell, l.condemn)
	started.wait(l.process)
	impatience.Stop()
	sweepMarked(l.nonce + "/")
	_ = l.conn.Close() // which also ends a write that is under way

	cause := fmt.Errorf("its process ended unexpectedly: %s; the next run starts another", l.process.ProcessState)
	if closing {
		cause = ErrClosed
	}
	l.mu.Lock()
	wards := l.wards
	l.wards = nil
	l.mu.Unlock()
	for _, w := range wards {
		close(w.logged)
		w.lost = cause
		close(w.ended)
	}
	l.lines.Close(logPatience)
	close(l.gone)
}

// condemn kills a guard process that does not do its work. The rest follows from the end of the connection.
func (l *link) condemn() {
	l.mu.Lock()
	l.lost = true
	l.mu.Unlock()
	_ = l.process.Process.Kill()
}

// close ends our half of the connection, which tells the guard process that its worker is gone, and waits until it is
// gone itself. The error is about a process that did not end as it should.
func (l *link) close() error {
	l.mu.Lock()
	lost := l.lost
	l.closing = true
	l.mu.Unlock()
	_ = l.conn.CloseWrite() // fails if the connection has ended already
	impatience := time.AfterFunc(farewell, l.condemn)
	defer impatience.Stop()
	<-l.gone
	if state := l.process.ProcessState; !lost && !state.Success() {
		return fmt.Errorf("close the guard: its process ended with %s; look for processes that it has left", state)
	}
	return nil
}
