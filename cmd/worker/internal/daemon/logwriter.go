package daemon

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/solotick/solotick/internal/eventqueue"
)

const (
	maxLogQueue = 4 << 20 // bytes

	FlushTimeout = time.Second            // at the end of the program
	hurriedFlush = 100 * time.Millisecond // at the second signal
)

// LogWriter writes the log on a goroutine of its own, so that a pipe without a reader blocks
// nothing. It drops lines that it cannot write, and logs their number as soon as it can write
// again. It is safe for concurrent use.
type LogWriter struct {
	to      io.Writer
	logger  func(io.Writer) *slog.Logger
	queue   *eventqueue.Queue[[]byte]
	dropped atomic.Int64 // writes since the start
	failed  int          // writes that failed and are not logged yet; only the goroutine of the queue uses it
}

// newLogWriter returns a LogWriter to w. It writes lines of its own with logger.
func newLogWriter(w io.Writer, logger func(io.Writer) *slog.Logger) *LogWriter {
	l := &LogWriter{to: w, logger: logger}
	l.queue = eventqueue.New(maxLogQueue, func(p []byte) int { return len(p) }, l.write, l.gap, func(any) {})
	return l
}

// Write queues a copy of p. It never fails or blocks.
func (l *LogWriter) Write(p []byte) (int, error) {
	if !l.queue.Put(bytes.Clone(p)) {
		l.dropped.Add(1)
	}
	return len(p), nil
}

func (l *LogWriter) write(p []byte) {
	if l.failed > 0 {
		if _, err := l.to.Write(l.gap(l.failed)); err == nil {
			l.failed = 0
		}
	}
	if _, err := l.to.Write(p); err != nil {
		l.failed++
		l.dropped.Add(1)
	}
}

// gap returns the line that replaces dropped lines.
func (l *LogWriter) gap(lines int) []byte {
	var b bytes.Buffer
	l.logger(&b).Warn("log lines dropped: nobody read them in time", slog.Int("count", lines))
	return b.Bytes()
}

// Flush waits until the queue is empty, at most for the timeout. Later writes are dropped.
func (l *LogWriter) Flush(timeout time.Duration) { l.queue.Close(timeout) }

func (l *LogWriter) metric() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "solotick_log_lines_dropped_total",
		Help: "Lines of this program's log that were dropped because nobody read them in time, or writing failed.",
	}, func() float64 { return float64(l.dropped.Load()) })
}
