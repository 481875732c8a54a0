package plan

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// edition is a schedule that a job had from a time on, in Unix ms.
type edition struct {
	since    int64
	schedule *schedule.Schedule // nil when it is not known
}

// Editions are those before the one in force, oldest first.
type Editions []edition

// ScheduleText is the part of a job's schedule that the store keeps: nothing where it is too long,
// which costs ticks at an edit.
func ScheduleText(job *jobs.Job) string {
	text := job.ScheduleText()
	if len(text) > protocol.MaxSchedule {
		return ""
	}
	return text
}

// ReadEditions reads what a record keeps of a job's schedules, of which the last is in force. One
// that cannot be read, as this machine may lack its time zone, had no ticks for all that is known.
func ReadEditions(job string, kept []protocol.Schedule) Editions {
	var list Editions
	for _, k := range kept[:max(0, len(kept)-1)] {
		s, err := wire.ParseSchedule(job, k.Text)
		if err != nil {
			s = nil
		}
		list = append(list, edition{since: k.Since.UnixMilli(), schedule: s})
	}
	return list
}

// Had returns a function that reports whether the edition that was in force when a tick was due had
// the tick. It returns nil when no edition is known. So schedules are compared by the ticks that
// they make, however they are written.
func (e Editions) Had(due func(tick int64) int64) func(tick int64) bool {
	if len(e) == 0 {
		return nil
	}
	return func(tick int64) bool {
		for _, ed := range slices.Backward(e) {
			if ed.since <= due(tick) {
				at := time.UnixMilli(tick)
				return ed.schedule != nil && ed.schedule.Next(at.Add(-time.Millisecond)).Equal(at)
			}
		}
		return false
	}
}
