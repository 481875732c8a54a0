package schedule

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// everyTicks are the instants at a whole number of periods, plus a phase, from the Unix epoch.
// Unit: seconds.
type everyTicks struct{ period, phase int64 }

func parseEvery(words []string) (ticks, error) {
	switch {
	case len(words) == 1:
	case len(words) == 3 && strings.EqualFold(words[1], "offset"):
	default:
		return nil, errors.New("must be @every DURATION or @every DURATION offset DURATION, such as @every 1h offset 5m")
	}
	period, rule := wholeSeconds(words[0])
	if rule == "" && period < 1 {
		rule = "must be at least 1s"
	}
	if rule != "" {
		return nil, fmt.Errorf("has the period %q, which %s", words[0], rule)
	}
	if len(words) == 1 {
		return everyTicks{period: period}, nil
	}
	phase, rule := wholeSeconds(words[2])
	if rule == "" && (phase < 0 || phase >= period) {
		rule = "must be at least 0s and shorter than the period"
	}
	if rule != "" {
		return nil, fmt.Errorf("has the offset %q, which %s", words[2], rule)
	}
	return everyTicks{period: period, phase: phase}, nil
}

func wholeSeconds(text string) (seconds int64, rule string) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, "must be a duration in h, m and s, such as 90s or 1h30m (a day is 24h)"
	case d%time.Second != 0:
		return 0, "must be whole seconds"
	}
	return int64(d / time.Second), ""
}

func (e everyTicks) next(after int64) (int64, bool) {
	next := after - floorMod(after-e.phase, e.period) + e.period
	return next, next <= lastInstant
}

func (e everyTicks) minInterval() time.Duration { return time.Duration(e.period) * time.Second }

// atTick is the one instant of a one-off.
type atTick int64

func parseAt(words []string) (ticks, error) {
	const form = "@at and a time as RFC 3339 writes it, such as @at 2030-01-31T08:00:00Z"
	if len(words) != 1 {
		return nil, errors.New("must be " + form)
	}
	t, err := time.Parse(time.RFC3339, words[0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("has the time %q, but must be %s", words[0], form)
	case t.Nanosecond() != 0:
		return nil, fmt.Errorf("has the time %q, which must be whole seconds", words[0])
	case t.Unix() <= firstInstant || t.Unix() > lastInstant:
		return nil, fmt.Errorf("has the time %q, which must be in the years 1 to 9999, in UTC", words[0])
	}
	return atTick(t.Unix()), nil
}

func (a atTick) next(after int64) (int64, bool) { return int64(a), int64(a) > after }

func (atTick) minInterval() time.Duration { return math.MaxInt64 }

// noTicks are those of a job that only triggers run, and of one whose schedules lie in the store.
type noTicks struct{ stored bool }

func (noTicks) next(int64) (int64, bool) { return 0, false }

func (noTicks) minInterval() time.Duration { return math.MaxInt64 }
