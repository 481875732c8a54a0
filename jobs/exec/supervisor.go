package exec

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
	"github.com/solotick/solotick/jobs/exec/internal/supervisor"
)

// errClosed is the cause of a run's failure when it was started, or still ran, after
// [Supervisor.Close].
var errClosed = errors.New("the supervisor is closed")

// Supervisor is the worker's side of its supervisor process, which the package comment describes.
// It is safe for concurrent use and serves any number of handlers; a worker needs one.
type Supervisor struct {
	args   []string
	logger *slog.Logger

	mu     sync.Mutex
	conn   *connection // to the newest process; nil before the first run
	closed bool

	connections sync.WaitGroup // their goroutines
}

// Option changes a [Supervisor] from its default.
type Option func(*Supervisor)

// WithLogger logs each line that a command writes, at level info, with the message "output" and the
// attributes job, tick, stream (stdout or stderr) and line. A line is cut after 8 KiB. Of one run
// 1,000 lines are logged, and then 100 a second. Further lines are dropped, and so are lines that
// logger is too slow for. "output dropped" counts them, before the next line that is logged and at
// the end of the run. A logger that blocks delays the end of a run by a second at most. The error
// of a run has the last lines that the command wrote, whether or not they were logged. Without this
// option, or with a nil logger, output is kept for errors only.
func WithLogger(logger *slog.Logger) Option { return func(s *Supervisor) { s.logger = logger } }

// NewSupervisor returns a supervisor whose process starts with the first run, and again with the
// next run after it was lost.
//
// The process is this same program, started with args, such as the name of a hidden subcommand. It
// must do nothing but call [SupervisorMain] and exit with what that returns. On Linux it is this
// very image, even if the file was replaced since.
func NewSupervisor(args []string, options ...Option) *Supervisor {
	s := &Supervisor{args: args}
	for _, option := range options {
		option(s)
	}
	return s
}

// SupervisorMain is all that a supervisor process does. It serves the worker that started the
// process (see [NewSupervisor]) until that worker is gone or closes its [Supervisor]. Then it kills
// every command that it has started and returns the exit code of the process. It is 0, or 1 if a
// command did not die or the supervisor could not begin, which it explains on standard error. It
// changes the whole process, so call it in place of everything else.
func SupervisorMain() int { return supervisor.Main() }

// Close ends the supervisor process, which kills every command that still runs, and waits for it,
// 10 s at most. Runs that this ends fail, and so do later ones. The error is about
// a process that did not end cleanly. A second call waits as well, and does nothing else.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	s.closed = true
	conn := s.conn
	s.mu.Unlock()
	var err error
	if conn != nil {
		err = conn.close()
	}
	s.connections.Wait()
	return err
}

// start hands a run to the supervisor process. command is called with the tag that the run's
// processes are to carry.
func (s *Supervisor) start(
	run jobs.Run, deadline bootclock.Instant, grace time.Duration, command func(tag string) *protocol.Start,
) (*activeRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.conn != nil {
		if r := s.conn.start(run, deadline, grace, command); r != nil {
			return r, nil
		}
	}
	conn, err := connect(s.args, s.logger, &s.connections)
	if err != nil {
		return nil, fmt.Errorf("start the supervisor process: %w", err)
	}
	s.conn = conn
	if r := conn.start(run, deadline, grace, command); r != nil {
		return r, nil
	}
	return nil, errors.New("the supervisor process ended as soon as it was started; the worker's standard error says why")
}
