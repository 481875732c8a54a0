package output

import (
	"strings"
	"time"
)

// TickLayout is the layout of a tick in JSON and in the environment of a run: RFC 3339 with
// milliseconds.
const TickLayout = "2006-01-02T15:04:05.000Z07:00"

// TimeLayout is the layout of a time in full.
const TimeLayout = "2006-01-02 15:04:05 -0700"

// Time formats a time in a zone, in full, with milliseconds unless they are 0. It is empty for the
// zero time.
func Time(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	layout := TimeLayout
	if t.UnixMilli()%1000 != 0 {
		layout = strings.Replace(layout, ":05", ":05.000", 1)
	}
	return t.In(zone).Format(layout)
}

// TimeNear formats a time without its date where other has the same date, else in full to the
// second.
func TimeNear(t, other time.Time, zone *time.Location) string {
	const day = time.DateOnly + " -0700"
	switch {
	case t.IsZero():
		return ""
	case t.In(zone).Format(day) == other.In(zone).Format(day):
		return t.In(zone).Format("15:04:05.000")
	}
	return t.In(zone).Format(TimeLayout)
}

// TickOfDay formats a tick in full, without its date where that is the date of now.
func TickOfDay(t, now time.Time, zone *time.Location) string {
	text, today := Time(t, zone), now.In(zone).Format(time.DateOnly+" ")
	if rest, ok := strings.CutPrefix(text, today); ok {
		text, _, _ = strings.Cut(rest, " ")
	}
	return text
}

// ClockOffset says how wrong a clock is. A clock with a positive offset is slow.
func ClockOffset(offset time.Duration) string {
	switch {
	case offset > 0:
		return offset.String() + " slow"
	case offset < 0:
		return (-offset).String() + " fast"
	}
	return "0s"
}
