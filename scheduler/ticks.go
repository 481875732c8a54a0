package scheduler

import (
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// ticks are those of a schedule. Jobs that share it ask for the same ones most often: it remembers
// the last answer.
type ticks struct {
	schedule *schedule.Schedule
	last     atomic.Pointer[successor]
}

// successor is the first tick after a time; 0 when there is none.
type successor struct{ after, tick int64 }

func (t *ticks) next(after int64) int64 {
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

// tickAfter returns the first tick after a time; 0 when there is none.
func (d *definition) tickAfter(after int64) int64 { return d.ticks.next(after) }

// due is when a tick is to start.
func (d *definition) due(tick int64) int64 { return wire.Due(d.job.Name(), tick, d.spec.Jitter) }

// lastDue returns the end of the range of ticks that were all due at then, with their jitter.
func (d *definition) lastDue(then int64) int64 {
	last := then - d.spec.Jitter.Milliseconds()
	for t := d.tickAfter(last); t != 0 && d.due(t) <= then; t = d.tickAfter(t) {
		last = t
	}
	return last
}

// inTurn reports whether a tick of the job has to wait for one before it that runs.
func (d *definition) inTurn() bool {
	return d.spec.Overlap == jobs.Forbid || d.spec.Overlap == jobs.Queue
}

// utc returns the time of a tick.
func utc(tick int64) time.Time { return time.UnixMilli(tick).UTC() }

// ms rounds up to whole milliseconds.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
