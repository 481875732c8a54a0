package plan

import (
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// Ticks are the ticks of a schedule. Jobs that share a schedule mostly ask for the same tick, so it
// remembers the last answer.
type Ticks struct {
	schedule *schedule.Schedule
	last     atomic.Pointer[successor]
}

// successor is a time and the first tick after it, or 0 if there is none.
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

// TickAfter returns the first tick after a time, or 0 if there is none.
func (d *Definition) TickAfter(after int64) int64 { return d.ticks.next(after) }

// Due returns when a tick is to start: its time plus its jitter.
func (d *Definition) Due(tick int64) int64 { return wire.Due(d.Job.Name(), tick, d.Spec.Jitter) }

// LastDue returns the newest tick such that it and all before it were due at then, jitter included.
func (d *Definition) LastDue(then int64) int64 {
	last := then - d.Spec.Jitter.Milliseconds()
	for t := d.TickAfter(last); t != 0 && d.Due(t) <= then; t = d.TickAfter(t) {
		last = t
	}
	return last
}

// InTurn reports whether a tick of the job must wait for an earlier one that runs.
func (d *Definition) InTurn() bool {
	return d.Spec.Overlap == jobs.Forbid || d.Spec.Overlap == jobs.Queue
}
