package exec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/internal/eventqueue"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/proc"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

const (
	// exitTimeout is how long a supervisor process may take to end after its connection has.
	exitTimeout = 10 * time.Second
	// sweepTimeout is how long the worker looks for processes that a lost supervisor has left.
	sweepTimeout = 2 * time.Second
)

// connection is the worker's end of the connection to one supervisor process, with the runs in that
// process's care. It has two goroutines, one for each direction; both end when the process has.
type connection struct {
	process *osexec.Cmd
	conn    *net.UnixConn
	logger  *slog.Logger
	lines   *eventqueue.Queue[logLine] // to the logger, which may be slow
	nonce   string                     // the start of the tags of this process's runs
	outbox  *protocol.Outbox[protocol.Request]
	gone    chan struct{} // closed when the process has ended and every run with it

	mu      sync.Mutex
	runs    map[uint64]*activeRun // whose end was not reported
	lastRun uint64
	closing bool
	lost    bool // the process has ended or must: no more runs
}

// connect starts a supervisor process.
func connect(args []string, logger *slog.Logger, goroutines *sync.WaitGroup) (*connection, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // the process has a copy by then
	c := &connection{
		conn: ours, logger: logger, nonce: rand.Text(),
		outbox: protocol.NewOutbox[protocol.Request](), gone: make(chan struct{}), runs: make(map[uint64]*activeRun),
	}
	c.lines = eventqueue.New(protocol.QueueBytes, logLine.size, logLine.log, func(dropped int) logLine {
		return logLine{logger: logger, dropped: dropped}
	}, func(any) {})
	program, err := thisProgram()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	c.process = &osexec.Cmd{
		Path:       program,
		Args:       append([]string{os.Args[0]}, args...),
		Stderr:     os.Stderr, // for a panic of the supervisor
		ExtraFiles: []*os.File{theirs},
		// A session of its own is out of reach of signals to the worker's group or terminal.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := started.start(c.process); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	goroutines.Go(func() { c.outbox.Send(c.conn, c.gone, func([]protocol.Request) {}) })
	goroutines.Go(func() {
		protocol.Receive(c.conn, c.handle)
		c.cleanUp()
	})
	return c, nil
}

// start queues the start of a run. It returns nil if the connection takes no more runs.
func (c *connection) start(
	run jobs.Run, deadline bootclock.Instant, grace time.Duration, command func(tag string) *protocol.Start,
) *activeRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return nil
	}
	c.lastRun++
	r := &activeRun{conn: c, id: c.lastRun, run: run, ended: make(chan struct{}), logged: make(chan struct{})}
	c.runs[r.id] = r
	s := command(r.tag())
	s.Log = c.logger != nil && c.logger.Enabled(context.Background(), slog.LevelInfo)
	if c.logger != nil {
		if r.logger = c.logger.With("job", run.Job, "tick", tickTime(run)); run.Key != "" {
			r.logger = r.logger.With("key", run.Key)
		}
	}
	c.outbox.Put(protocol.Request{Verb: protocol.VerbStart, Run: r.id, Start: s, Deadline: deadline, Grace: grace})
	return r
}

func (c *connection) handle(report protocol.Report) {
	c.mu.Lock()
	r := c.runs[report.Run]
	if r != nil && report.PID != 0 {
		r.pid = report.PID
	}
	if report.End != nil {
		delete(c.runs, report.Run)
	}
	c.mu.Unlock()

	if r == nil {
		return
	}
	if report.Stream != "" {
		c.lines.Put(logLine{logger: r.logger, dropped: report.Dropped, stream: report.Stream, text: strings.ToValidUTF8(report.Line, "\uFFFD")})
	}
	if report.Checkpoint != nil {
		r.checkpoint(*report.Checkpoint)
	}
	if report.End != nil {
		if r.logger == nil || !c.lines.Put(logLine{logger: r.logger, dropped: report.End.Dropped, last: r.logged}) {
			close(r.logged)
		}
		r.end = report.End
		close(r.ended)
	}
}

// cleanUp kills what a supervisor process may have left, once its connection has ended. First it
// kills the groups of its runs, of which the kernel has killed the leaders only. Then it kills all
// processes with its tags.
func (c *connection) cleanUp() {
	c.mu.Lock()
	c.lost = true
	for _, r := range c.runs {
		if r.pid != 0 {
			_ = unix.Kill(-r.pid, unix.SIGKILL)
		}
	}
	closing := c.closing
	c.mu.Unlock()

	timeout := time.AfterFunc(exitTimeout, c.kill)
	started.wait(c.process)
	timeout.Stop()
	proc.KillTagged(c.nonce+"/", sweepTimeout)
	_ = c.conn.Close() // which also ends a write that is under way

	cause := fmt.Errorf("its process ended unexpectedly: %s; the next run starts another", c.process.ProcessState)
	if closing {
		cause = errClosed
	}
	c.mu.Lock()
	runs := c.runs
	c.runs = nil
	c.mu.Unlock()
	for _, r := range runs {
		close(r.logged)
		r.lost = cause
		close(r.ended)
	}
	c.lines.Close(logTimeout)
	close(c.gone)
}

// kill kills a supervisor process that does not do its work. The end of the connection does the
// rest.
func (c *connection) kill() {
	c.mu.Lock()
	c.lost = true
	c.mu.Unlock()
	_ = c.process.Process.Kill()
}

// close ends the worker's half of the connection, which notifies the supervisor process that its
// worker is gone, and waits for the end of the process. The error is about a process that did not
// end as it should.
func (c *connection) close() error {
	c.mu.Lock()
	lost := c.lost
	c.closing = true
	c.mu.Unlock()
	_ = c.conn.CloseWrite() // fails if the connection has ended already
	timeout := time.AfterFunc(exitTimeout, c.kill)
	defer timeout.Stop()
	<-c.gone
	if state := c.process.ProcessState; !lost && !state.Success() {
		return fmt.Errorf("close the supervisor: its process ended with %s; look for processes that it has left", state)
	}
	return nil
}
