package exec

import (
	"log/slog"
	"time"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// logTimeout is how long the end of a run waits for its lines to be logged, to keep the log in
// order.
const logTimeout = time.Second

// logLine is a line of output on its way to the log.
type logLine struct {
	logger       *slog.Logger
	dropped      int // lines before it
	stream, text string
	failure      error         // in place of a line: of a checkpoint
	last         chan struct{} // in place of a line, at the end of a run: closed when all is logged
}

func (l logLine) size() int { return protocol.LineCost(len(l.text)) }

func (l logLine) log() {
	if l.dropped > 0 {
		l.logger.Info("output dropped", "lines", l.dropped)
	}
	if l.stream != "" {
		l.logger.Info("output", "stream", l.stream, "line", l.text)
	}
	if l.failure != nil {
		l.logger.Error("checkpoint not kept", "err", l.failure)
	}
	if l.last != nil {
		close(l.last)
	}
}

// awaitLog waits until the run's output is logged, up to logTimeout.
func (r *activeRun) awaitLog() {
	timeout := time.NewTimer(logTimeout)
	defer timeout.Stop()
	select {
	case <-r.logged:
	case <-timeout.C:
	}
}
