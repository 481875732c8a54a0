package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// tick parses the TICK argument of a job.
func (a *client) tick(ctx context.Context, name, text string, job *jobs.Job) (time.Time, error) {
	now, err := a.ask.Now(ctx)
	if err != nil {
		return time.Time{}, a.explain(name, err)
	}
	prefix := jobs.Run{Namespace: a.namespace, Job: name}.TickID()
	prefix = prefix[:strings.LastIndex(prefix, "/")+1]
	tick, err := readTick(strings.TrimPrefix(text, prefix), now, zone(job), job)
	if err != nil {
		return time.Time{}, &usageError{err, a.cmd}
	}
	return tick, nil
}

// readTick parses a tick. A time without a date is the last one that is not after now. Where a
// clock change repeats a time, it is the instant at which the job has a tick.
func readTick(text string, now time.Time, zone *time.Location, job *jobs.Job) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && len(text) >= 12 {
		return time.UnixMilli(ms), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 -0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return scheduledOne(atWall(t, zone), job), nil
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			n := now.In(zone)
			on := func(day int) time.Time {
				reading := time.Date(n.Year(), n.Month(), day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
				return scheduledOne(atWall(reading, zone), job)
			}
			if today := on(n.Day()); !today.After(now) {
				return today, nil
			}
			return on(n.Day() - 1), nil
		}
	}
	return time.Time{}, errors.New(strconv.Quote(text) + ` must be a time, such as "2026-11-20 02:00", 02:00 or 2026-11-20T01:00:00Z, Unix ms, or a tick's id of this job`)
}

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
