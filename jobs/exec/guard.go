package exec

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs"
)

// ErrClosed is the cause of a run's failure when it was started, or still ran, after [Guard.Close].
var ErrClosed = errors.New("the guard is closed")

// Guard is the worker's side of its guard process, which package exec's comment describes. It is safe for concurrent
// use, and serves any number of handlers; a worker needs one.
type Guard struct {
	args   []string
	logger *slog.Logger

	mu     sync.Mutex
	link   *link // to the newest guard process; nil before the first run
	closed bool

	links sync.WaitGroup // their goroutines
}

// Option changes a [Guard] from its default.
type Option func(*Guard)

// WithLogger logs each line that a command writes, at level info, with the message "output" and the attributes job,
// tick, stream (stdout or stderr) and line. A line is cut after 8 KiB. Of one run 1,000 lines are logged, and then 100 a
// second; the others are dropped, and so are lines that logger is too slow for. "output dropped" says how many, before
// the next line that is logged and at the end of the run. A logger that blocks delays the end of a run by a second at
// most. The last lines that the error of a run has are those that the command wrote, dropped or not. Without this option,
// or with a nil logger, output is kept for the errors of runs only.
func WithLogger(logger *slog.Logger) Option { return func(g *Guard) { g.logger = logger } }

// NewGuard returns a guard whose process is started at the first run, and again at the next run after it was lost.
//
// The process is this same program, started with args, such as the name of a hidden subcommand; it must do nothing but
// call [GuardMain] and exit with what that returns. It is this very image on Linux, even if the file was replaced since.
func NewGuard(args []string, options ...Option) *Guard {
	g := &Guard{args: args}
	for _, option := range options {
		option(g)
	}
	return g
}

// Close ends the guard process, which kills every command that still runs, and waits for it, 10 s at most. Runs that this
// ends fail with [ErrClosed], and so do later ones. The error is about a guard process that did not end cleanly. Closing
// again waits as well, and does nothing else.
func (g *Guard) Close() error {
	g.mu.Lock()
	g.closed = true
	l := g.link
	g.mu.Unlock()
	var err error
	if l != nil {
		err = l.close()
	}
	g.links.Wait()
	return err
}

// start hands a run to the guard process. command is called with the mark that the run's processes are to carry.
func (g *Guard) start(run jobs.Run, deadline instant, grace time.Duration, command func(mark string) *start) (*ward, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if g.link != nil {
		if w := g.link.start(run, deadline, grace, command); w != nil {
			return w, nil
		}
	}
	l, err := newLink(g.args, g.logger, &g.links)
	if err != nil {
		return nil, fmt.Errorf("start the guard process: %w", err)
	}
	g.link = l
	if w := l.start(run, deadline, grace, command); w != nil {
		return w, nil
	}
	return nil, errors.New("the guard process ended as soon as it was started; its last words are on the worker's standard error")
}
