package schedule

import (
	"strings"
	"time"
)

// The kinds of [ClockChange].
const (
	moved    = "moved"
	runsOnce = "runs_once"
	skipped  = "skipped"
	repeated = "repeated"
)

// ClockChange describes what one change of a zone's clock does to a schedule's ticks. Its String is
// a sentence about it.
//
// Local times are written as 2006-01-02T15:04:05, without an offset: some of them do not exist,
// others do twice.
type ClockChange struct {
	// Kind is the effect of the change on the ticks. moved: ticks of a fixed-time spec fall into a
	// gap, and run as one at its end. runs_once: ticks of a fixed-time spec are in a repeated time,
	// and run when the clock first shows them. skipped: ticks of a wildcard spec fall into a gap,
	// and do not run. repeated: they are in a repeated time, and run again.
	Kind string
	Zone string    // the time zone's name
	At   time.Time // the instant of the change, in UTC

	Before string // the local time at which the clock is changed, which it never shows
	After  string // the local time that it shows instead

	First string // the local time of the first affected tick
	Last  string // and of the last, equal to First when Ticks is 1
	Ticks int    // how many local times are affected, at least 1

	// RunsAt is when the first affected tick runs, in UTC. It is at the change when moved, before
	// it for runs_once, and for repeated the second time, after it. It is the zero time for
	// skipped.
	RunsAt time.Time
	// Merged reports whether a moved tick runs as one with others: of the gap, or one due at its
	// end anyway.
	Merged bool
}

// ClockChanges returns what the clock changes between two instants, both included, do to the
// schedule's ticks, in order. A change before from counts when a tick that it repeats runs after
// from. One after to counts when a tick that runs once does so before to. Wildcard specs that a
// change leaves evenly spaced, such as hourly ones, do not appear. Nor does anything for @every and
// @at, which no clock change concerns.
func (s *Schedule) ClockChanges(from, to time.Time) []ClockChange {
	c, ok := s.ticks.(*cronTicks)
	if !ok {
		return nil
	}
	if first := time.Unix(s.first, 0); from.Before(first) {
		from = first
	}
	if last := time.Unix(s.last, 0); to.After(last) {
		to = last
	}
	const around = 48 * 60 * 60 // further from a change than any tick that it affects
	var found []ClockChange
	for change := range c.zone.changes(from.Unix()-around, to.Unix()+around) {
		effect, ok := c.effect(change)
		if !ok {
			continue
		}
		earliest, latest := effect.At, effect.At
		if effect.Kind == runsOnce {
			earliest = effect.RunsAt
		} else if effect.Kind == repeated {
			latest = effect.RunsAt
		}
		if !latest.Before(from) && !earliest.After(to) {
			found = append(found, effect)
		}
	}
	return found
}

// effect returns what a change does, and false when it does nothing to these ticks.
func (c *cronTicks) effect(change clockChange) (ClockChange, bool) {
	shift := change.after - change.before
	if c.wildcard && c.evenAcross(shift) {
		return ClockChange{}, false
	}
	before, after := change.at+change.before, change.at+change.after
	e := ClockChange{
		Zone: c.zone.loc.String(), At: time.Unix(change.at, 0).UTC(),
		Before: writeReading(before), After: writeReading(after),
	}

	// The readings from low up to but not including high are those that the clock jumps over or
	// shows again.
	low, high := before, after
	switch {
	case shift > 0 && c.wildcard:
		e.Kind = skipped
	case shift > 0:
		e.Kind = moved
		low = c.zone.highest(change.at-1) + 1
	case c.wildcard:
		e.Kind, low, high = repeated, after, before
	default:
		e.Kind, low, high = runsOnce, after, before
	}

	var first, last int64
	for reading, ok := c.calendar.next(low); ok && reading < high; reading, ok = c.calendar.next(reading + 1) {
		if e.Ticks++; e.Ticks == 1 {
			first = reading
		}
		last = reading
	}
	if e.Ticks == 0 {
		return ClockChange{}, false
	}
	e.First, e.Last = writeReading(first), writeReading(last)

	switch e.Kind {
	case moved:
		e.RunsAt = e.At
		due, ok := c.calendar.next(after)
		e.Merged = e.Ticks > 1 || ok && due == after
	case runsOnce:
		e.RunsAt = time.Unix(first-change.before, 0).UTC()
	case repeated:
		e.RunsAt = time.Unix(first-change.after, 0).UTC()
	case skipped: // runs at no instant
	}
	return e, true
}

// evenAcross reports whether a wildcard spec ticks on at the same pace when the clock jumps by
// shift seconds. It does when it names every hour, and its minutes look the same after the jump.
func (c *cronTicks) evenAcross(shift int64) bool {
	const everyHour, everyMinute = 1<<24 - 1, 1<<60 - 1
	if c.calendar.hour&^starBit != everyHour || shift%60 != 0 {
		return false
	}
	minutes, by := c.calendar.minute&everyMinute, int(floorMod(shift/60, 60))
	return (minutes<<by|minutes>>(60-by))&everyMinute == minutes
}

const readingLayout = "2006-01-02T15:04:05"

func writeReading(reading int64) string { return time.Unix(reading, 0).UTC().Format(readingLayout) }

// String says in one sentence, without a full stop, what happens to which ticks, and when.
func (c ClockChange) String() string { return c.Words(nil) }

// Words is String in another language: see [Schedule.Words] for translate.
func (c ClockChange) Words(translate func(phrase string) string) string {
	w := phrases{translate}
	date, first := splitReading(c.First)
	onDate := func(reading string) string {
		d, clock := splitReading(reading)
		if d == date {
			return clock
		}
		return w.Say("%s on %s", clock, d)
	}
	where := w.Say("in %s, where the clock goes from %s to %s", c.Zone, onDate(c.Before), onDate(c.After))
	if c.Kind == runsOnce || c.Kind == repeated {
		where = w.Say("in %s, where the clock goes back from %s to %s", c.Zone, onDate(c.Before), onDate(c.After))
	}
	instant := c.RunsAt.Format(time.RFC3339)
	if c.Ticks > 1 {
		return w.several(c, w.Say("%s to %s on %s (%d ticks)", first, onDate(c.Last), date, c.Ticks), where, onDate(c.After), instant)
	}
	ticks := w.Say("%s on %s", first, date)
	switch {
	case c.Kind == moved && c.Merged:
		return w.Say("%s does not exist %s: the tick runs at %s, as one with the tick due then (%s)", ticks, where, onDate(c.After), instant)
	case c.Kind == moved:
		return w.Say("%s does not exist %s: the tick runs at %s (%s)", ticks, where, onDate(c.After), instant)
	case c.Kind == skipped:
		return w.Say("%s does not exist %s: the tick does not run", ticks, where)
	case c.Kind == runsOnce:
		return w.Say("%s comes twice %s: the tick runs once, the first time (%s)", ticks, where, instant)
	default:
		return w.Say("%s comes twice %s: the tick runs both times (again at %s)", ticks, where, instant)
	}
}

// several says what a change does to more than one tick.
func (w phrases) several(c ClockChange, ticks, where, after, instant string) string {
	switch c.Kind {
	case moved:
		return w.Say("%s do not exist %s: they run as one at %s (%s)", ticks, where, after, instant)
	case skipped:
		return w.Say("%s do not exist %s: they do not run", ticks, where)
	case runsOnce:
		return w.Say("%s come twice %s: each runs once, the first time (from %s on)", ticks, where, instant)
	default:
		return w.Say("%s come twice %s: each runs both times (again from %s on)", ticks, where, instant)
	}
}

// splitReading returns the date and the time of day, without seconds when there are none.
func splitReading(reading string) (date, clock string) {
	date, clock, _ = strings.Cut(reading, "T")
	return date, strings.TrimSuffix(clock, ":00")
}
