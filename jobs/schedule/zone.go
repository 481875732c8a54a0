package schedule

import (
	"iter"
	"math"
	"time"
)

// The instants that schedules are defined for: the years 1 to 9999, which RFC 3339 can write.
const (
	firstInstant = -62135596800 // where the zero time.Time is
	lastInstant  = 253402300799
)

// zone is a time zone seen as a clock on a wall: at any instant it shows a reading (see calendar),
// and at some it jumps. Instants are whole Unix seconds.
type zone struct{ loc *time.Location }

// span is a time without a clock change, from start up to but not including end. In it the clock
// shows the instant plus offset.
type span struct{ start, end, offset int64 }

// at returns a span around an instant. It need not be the longest: the spans of a zone's future end
// at new year.
func (z zone) at(instant int64) span {
	t := time.Unix(instant, 0).In(z.loc)
	_, offset := t.Zone()
	s := span{start: math.MinInt64, end: math.MaxInt64, offset: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		s.start = start.Unix()
	}
	if !end.IsZero() {
		s.end = end.Unix()
	}
	if s.end <= instant {
		// On the last day of a future leap year package time ends the span at that day's beginning.
		s.end = instant - floorMod(instant, secondsPerDay) + secondsPerDay
	}
	return s
}

// highest returns the highest reading that the clock has shown up to and including an instant.
func (z zone) highest(instant int64) int64 {
	// No zone has ever put its clock back by more than a day.
	const furthestBack = 48 * 60 * 60
	s := z.at(instant)
	highest := instant + s.offset
	for horizon := instant - furthestBack; s.start > horizon && s.start > firstInstant; {
		last := s.start - 1
		s = z.at(last)
		highest = max(highest, last+s.offset)
	}
	return highest
}

// clockChange is an instant at which the clock jumps from one offset to another.
type clockChange struct{ at, before, after int64 }

// changes yields the clock changes from one instant to another, both included.
func (z zone) changes(from, to int64) iter.Seq[clockChange] {
	return func(yield func(clockChange) bool) {
		for s := z.at(max(from, firstInstant) - 1); s.end <= min(to, lastInstant); {
			next := z.at(s.end)
			if next.offset != s.offset && !yield(clockChange{at: s.end, before: s.offset, after: next.offset}) {
				return
			}
			s = next
		}
	}
}
