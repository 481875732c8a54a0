package plan

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// edition is a schedule that a job had, and since when, in Unix ms.
type edition struct {
	since    int64
	schedule *schedule.Schedule // nil when it is not known
}

// Editions are the schedules before the present one, oldest first.
type Editions []edition

// ScheduleText returns what the store keeps of a job's schedule. It is empty if the schedule is too
// long to keep, which costs ticks when the job is edited.
func ScheduleText(job *jobs.Job) string {
	text := job.ScheduleText()
	if len(text) > protocol.MaxSchedule {
		return ""
	}
	return text
}

// ReadEditions reads the schedules in a record, of which the last is the present one. A schedule
// that cannot be read, because this machine lacks its time zone, counts as having no ticks.
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

// Had returns a function that reports whether the schedule in force when a tick was due had that
// tick, or nil if no earlier schedule is known. Two schedules are compared by their ticks and not
// by their text.
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
