package scheduler

import (
	"time"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// tickAfter returns the first tick after a time; 0 when there is none.
func (d *definition) tickAfter(after int64) int64 {
	t := d.job.Schedule().Next(time.UnixMilli(after))
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// due is when a tick is to start.
func (d *definition) due(tick int64) int64 { return wire.Due(d.spec.Name, tick, d.spec.Jitter) }

// inTurn reports whether a tick of the job has to wait for one before it that runs.
func (d *definition) inTurn() bool {
	return d.spec.Overlap == jobs.Forbid || d.spec.Overlap == jobs.Queue
}

// utc returns the time of a tick.
func utc(tick int64) time.Time { return time.UnixMilli(tick).UTC() }

// ms rounds up to whole milliseconds.
func ms(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
