package schedule

import (
	"sync"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a parsed spec: the set of instants at which a job is due. It is immutable and safe
// for concurrent use. Make one with [Parse]; the zero value is not usable.
type Schedule struct {
	spec        string
	loc         *time.Location
	ticks       ticks
	minInterval func() time.Duration
	first, last int64 // bounds of the ticks, in Unix seconds, both included
}

var _ cron.Schedule = (*Schedule)(nil)

// ticks is a set of instants in whole Unix seconds.
type ticks interface {
	// next returns the first instant after the given one, which is from firstInstant to
	// lastInstant, and false when there is none up to lastInstant.
	next(after int64) (int64, bool)
	// minInterval returns a time that no two ticks are closer than.
	minInterval() time.Duration
}

func newSchedule(spec string, loc *time.Location, t ticks) *Schedule {
	return &Schedule{
		spec: spec, loc: loc, ticks: t, minInterval: sync.OnceValue(t.minInterval), first: firstInstant, last: lastInstant,
	}
}

// Next returns the first tick after the given instant, in UTC and whole seconds. It returns the
// zero time when none comes before the year 10000. It is a pure function. For one instant it
// returns the same on every replica, in whatever time zone the instant is expressed. That needs
// replicas with the same time zone database.
func (s *Schedule) Next(after time.Time) time.Time {
	// Unix rounds down, so a tick in the second that after lies within is either after itself or in
	// the past.
	next, ok := s.ticks.next(min(max(after.Unix(), s.first-1, firstInstant), lastInstant))
	if !ok || next > s.last {
		return time.Time{}
	}
	return time.Unix(next, 0).UTC()
}

// Before returns the last tick before the given instant, in UTC and whole seconds. It returns the
// zero time when there is none in the forty years before.
func (s *Schedule) Before(t time.Time) time.Time {
	const longest = 40 * 365 * 24 * time.Hour
	for back := time.Second; back < longest; back *= 2 {
		var last time.Time
		for at := s.Next(t.Add(-back)); !at.IsZero() && at.Before(t); at = s.Next(at) {
			last = at
		}
		if !last.IsZero() {
			return last
		}
	}
	return time.Time{}
}

// MinInterval returns a time that no two ticks of the schedule are closer than, at least one
// second. It is the shortest interval that occurs, with the clock changes of the years 2000 to 2060
// included. A daily spec in a zone with daylight saving time has 23 hours. For a schedule with fewer than
// two ticks (a one-off, @triggered, @stored) it returns the longest duration. The first call takes a
// fraction of a millisecond; later ones return its result.
func (s *Schedule) MinInterval() time.Duration { return s.minInterval() }

// Empty reports whether the schedule has no ticks at all: @triggered and @stored.
func (s *Schedule) Empty() bool {
	_, none := s.ticks.(noTicks)
	return none
}

// Stored reports whether the schedule is @stored: the job's ticks are those of schedules that lie
// in the store.
func (s *Schedule) Stored() bool { return s.ticks == noTicks{stored: true} }

// Within returns the same schedule without the ticks before start and after end. Both are included;
// the zero time means no bound. What MinInterval, Words and String return stays.
func (s *Schedule) Within(start, end time.Time) *Schedule {
	bounded := *s
	if !start.IsZero() {
		// Unix rounds down, and the tick of a second that has begun is before start.
		bounded.first = max(s.first, start.Add(time.Second-1).Unix())
	}
	if !end.IsZero() {
		bounded.last = min(s.last, end.Unix())
	}
	return &bounded
}

// String returns the spec as it was given, with single spaces between its fields.
func (s *Schedule) String() string { return s.spec }

// Location returns the time zone that the spec's fields are read in.
func (s *Schedule) Location() *time.Location { return s.loc }
