package plan

import (
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// Ticks are those of a schedule. Jobs that share it ask for the same ones most often: it remembers
// the last answer.
type Ticks struct {
	schedule *schedule.Schedule
	last     atomic.Pointer[successor]
}

// successor is the first tick after a time; 0 when there is none.
type successor struct{ after, tick int64 }

func (t *Ticks) next(after int64) int64 {
	if last := t.last.Load(); last != nil && last.after == after {
		return last.tick
	}
	s := &successor{after: after}
	if next := t.schedule.Next(time.UnixMilli(after)); !next.IsZero() {
		s.tick = next.UnixMilli()
	}
	t.last.Store(s)
	return s.tick
}

// TickAfter returns the first tick after a time; 0 when there is none.
func (d *Definition) TickAfter(after int64) int64 { return d.ticks.next(after) }

// Due is when a tick is to start.
func (d *Definition) Due(tick int64) int64 { return wire.Due(d.Job.Name(), tick, d.Spec.Jitter) }

// LastDue returns the end of the range of ticks that were all due at then, with their jitter.
func (d *Definition) LastDue(then int64) int64 {
	last := then - d.Spec.Jitter.Milliseconds()
	for t := d.TickAfter(last); t != 0 && d.Due(t) <= then; t = d.TickAfter(t) {
		last = t
	}
	return last
}

// InTurn reports whether a tick of the job has to wait for one before it that runs.
func (d *Definition) InTurn() bool {
	return d.Spec.Overlap == jobs.Forbid || d.Spec.Overlap == jobs.Queue
}
