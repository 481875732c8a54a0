package supervisor

import (
	"cmp"
	"sync/atomic"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// outbox holds the reports that the worker has not read. Lines that would not fit are refused;
// other reports always fit, for there are two a run.
type outbox struct {
	*protocol.Outbox[protocol.Report]
	bytes atomic.Int64 // of lines, taken ones included until they are sent
}

func newOutbox() *outbox { return &outbox{Outbox: protocol.NewOutbox[protocol.Report]()} }

// offer queues a line of output before which others of the run were dropped, or reports that it is
// dropped as well.
func (o *outbox) offer(run uint64, stream string, line []byte, dropped int) bool {
	cost := int64(protocol.LineCost(len(line)))
	if o.bytes.Add(cost) > protocol.QueueBytes {
		o.bytes.Add(-cost)
		return false
	}
	o.Put(protocol.Report{Run: run, Stream: stream, Line: string(line), Dropped: dropped})
	return true
}

// checkpoint queues a checkpoint of a run, in place of one that the worker has not read.
func (o *outbox) checkpoint(run uint64, c protocol.Checkpoint) {
	o.Change(func(waiting []protocol.Report) []protocol.Report {
		for _, r := range waiting {
			if r.Run == run && r.Checkpoint != nil {
				r.Checkpoint.Line = cmp.Or(c.Line, r.Checkpoint.Line)
				r.Checkpoint.TooLong += c.TooLong
				return waiting
			}
		}
		return append(waiting, protocol.Report{Run: run, Checkpoint: &c})
	})
}

// sent makes room for other lines.
func (o *outbox) sent(reports []protocol.Report) {
	for _, r := range reports {
		if r.Stream != "" {
			o.bytes.Add(-int64(protocol.LineCost(len(r.Line))))
		}
	}
}
