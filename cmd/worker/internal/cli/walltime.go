package cli

import (
	"time"

	"github.com/solotick/solotick/jobs"
)

// atWall returns the instants at which a clock in zone shows the wall time of t. It returns one, or
// two in order where a clock change repeats it. For a skipped wall time it returns the end of the
// gap.
func atWall(t time.Time, zone *time.Location) []time.Time {
	const around = 12 * time.Hour
	reading := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := offset(reading.Add(-around-around)), offset(reading.Add(around+around))
	var found []time.Time
	for _, o := range []time.Duration{max(before, after), min(before, after)} { // the greater offset is the earlier instant
		at := reading.Add(-o)
		if offset(at) == o && (len(found) == 0 || !found[0].Equal(at)) {
			found = append(found, at.In(zone))
		}
	}
	if len(found) > 0 {
		return found
	}
	low, high := reading.Add(-before-around), reading.Add(-before+around) // the change is between them
	for high.Sub(low) > time.Nanosecond {
		if middle := low.Add(high.Sub(low) / 2); offset(middle) == before {
			low = middle
		} else {
			high = middle
		}
	}
	return []time.Time{high.In(zone)}
}

// scheduledOne returns the first instant at which the job has a tick. Without a job or such a tick
// it returns the first instant.
func scheduledOne(instants []time.Time, job *jobs.Job) time.Time {
	if job != nil && !job.Spec().Leader {
		for _, at := range instants {
			if job.Schedule().Next(at.Add(-time.Nanosecond)).Equal(at) {
				return at
			}
		}
	}
	return instants[0]
}
