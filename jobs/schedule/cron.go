package schedule

import "time"

// cronTicks are the instants at which a zone's clock shows the times of a calendar, under the rule
// for clock changes in the package comment.
type cronTicks struct {
	calendar calendar
	zone     zone
	wildcard bool
}

func (c *cronTicks) next(after int64) (int64, bool) {
	if c.wildcard {
		return c.nextShown(after + 1)
	}
	return c.nextPassed(after)
}

// nextShown finds the first instant, from the given one on, at which the clock shows a matching
// time.
func (c *cronTicks) nextShown(instant int64) (int64, bool) {
	s := c.zone.at(instant)
	from := instant + s.offset
	match, ok := c.calendar.next(from)
	for ok {
		if at := match - s.offset; at < s.end {
			return at, at <= lastInstant
		}
		instant = s.end
		if instant > lastInstant {
			break
		}
		s = c.zone.at(instant)
		// Nothing matches between from and match, so the calendar need not be asked unless the
		// clock has left that range.
		if shown := instant + s.offset; shown < from || shown > match {
			from = shown
			match, ok = c.calendar.next(from)
		}
	}
	return 0, false
}

// nextPassed finds the first instant after the given one at which the clock shows or jumps over a
// matching time for the first time.
func (c *cronTicks) nextPassed(after int64) (int64, bool) {
	match, ok := c.calendar.next(c.zone.highest(after) + 1)
	if !ok {
		return 0, false
	}
	for instant := after + 1; instant <= lastInstant; {
		s := c.zone.at(instant)
		if at := max(instant, match-s.offset); at < s.end {
			return at, at <= lastInstant
		}
		instant = s.end
	}
	return 0, false
}

// minInterval starts from the shortest interval of a clock that never jumps, and then looks at the
// ticks around each jump.
func (c *cronTicks) minInterval() time.Duration {
	shortest := c.calendar.minInterval()
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(2061, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for change := range c.zone.changes(from, to) {
		if shortest == 1 {
			break
		}
		// Only ticks on both sides of a change can be closer than on an even clock. The tick at the
		// change itself may have been moved there, so its next one counts as well.
		for tick, ok := c.next(change.at - shortest - 1); ok && tick <= change.at; {
			var following int64
			if following, ok = c.next(tick); ok {
				shortest = min(shortest, following-tick)
				tick = following
			}
		}
	}
	return time.Duration(shortest) * time.Second
}
