package supervisor

import (
	"bufio"
	"encoding/gob"
	"io"
	"strings"
	"sync"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// outbox holds the reports that the worker has not read. Lines that would not fit are refused;
// other reports always fit, for there are two a run.
type outbox struct {
	wake chan struct{} // of size 1: there is something to write

	mu      sync.Mutex
	reports []protocol.Report
	bytes   int // of lines, taken ones included until they are written
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put queues a report.
func (o *outbox) put(r protocol.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.putLocked(r)
}

// offer queues a line of output before which others of the run were dropped, or reports that it is
// dropped as well.
func (o *outbox) offer(run uint64, stream string, line []byte, dropped int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes+protocol.LineCost(len(line)) > protocol.QueueBytes {
		return false
	}
	o.bytes += protocol.LineCost(len(line))
	o.putLocked(protocol.Report{Run: run, Stream: stream, Line: string(line), Dropped: dropped})
	return true
}

func (o *outbox) putLocked(r protocol.Report) {
	o.reports = append(o.reports, r)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) take() []protocol.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	reports := o.reports
	o.reports = nil
	return reports
}

func (o *outbox) written(lineBytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= lineBytes
}

// write sends reports until the worker is gone, which loop notices by itself.
func (o *outbox) write(conn io.Writer) {
	w := bufio.NewWriter(conn)
	encoder := gob.NewEncoder(w)
	for range o.wake {
		lineBytes := 0
		for _, r := range o.take() {
			if r.Stream != "" {
				lineBytes += protocol.LineCost(len(r.Line))
				r.Line = strings.ToValidUTF8(r.Line, "\uFFFD")
			}
			if encoder.Encode(r) != nil {
				return
			}
		}
		if w.Flush() != nil {
			return
		}
		o.written(lineBytes)
	}
}
