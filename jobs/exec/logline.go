package exec

import (
	"log/slog"
	"time"
)

// logPatience is how long the end of a run waits for its lines to be logged, so that the log is in order where it can be.
const logPatience = time.Second

// logLine is a line of output on its way to the log.
type logLine struct {
	logger       *slog.Logger
	dropped      int // lines before it
	stream, text string
	last         chan struct{} // in place of a line, at the end of a run: closed when all is logged
}

func (l logLine) size() int { return lineCost(len(l.text)) }

func (l logLine) log() {
	if l.dropped > 0 {
		l.logger.Info("output dropped", "lines", l.dropped)
	}
	if l.stream != "" {
		l.logger.Info("output", "stream", l.stream, "line", l.text)
	}
	if l.last != nil {
		close(l.last)
	}
}

// awaitLog waits for a moment until the run's output is logged.
func (w *ward) awaitLog() {
	timeout := time.NewTimer(logPatience)
	defer timeout.Stop()
	select {
	case <-w.logged:
	case <-timeout.C:
	}
}
