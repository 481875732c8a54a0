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
	maxLogQueued = 4 << 20 // bytes

	FlushTimeout = time.Second            // at the end
	hurriedFlush = 100 * time.Millisecond // at the second signal
)

// LogWriter writes what it is given on a goroutine of its own, so that a pipe that nobody reads holds nobody up. What it
// cannot write it drops and counts; it logs the count as soon as it can write again. It is safe for concurrent use.
type LogWriter struct {
	to      io.Writer
	logger  func(io.Writer) *slog.Logger
	queue   *eventqueue.Queue[[]byte]
	dropped atomic.Int64 // writes, in all
	failed  int          // writes that failed and are not reported yet; only the queue's goroutine has it
}

// newLogWriter returns one that writes to w. Its own lines are written as by logger.
func newLogWriter(w io.Writer, logger func(io.Writer) *slog.Logger) *LogWriter {
	l := &LogWriter{to: w, logger: logger}
	l.queue = eventqueue.New(maxLogQueued, func(p []byte) int { return len(p) }, l.write, l.gap, func(any) {})
	return l
}

// Write queues a copy of p. It never fails, and never waits.
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

// gap is the line that stands for those that were dropped.
func (l *LogWriter) gap(lines int) []byte {
	var b bytes.Buffer
	l.logger(&b).Warn("log lines dropped: nobody read them in time", slog.Int("count", lines))
	return b.Bytes()
}

// Flush waits for what is queued, but not for long. What is written later is dropped.
func (l *LogWriter) Flush(limit time.Duration) { l.queue.Close(limit) }

func (l *LogWriter) metric() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "solotick_log_lines_dropped_total",
		Help: "Lines of this program's log that were dropped because nobody read them in time, or writing failed.",
	}, func() float64 { return float64(l.dropped.Load()) })
}
