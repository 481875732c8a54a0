package main

import (
	"strings"
	"time"
)

// printed is how next and the others print a time.
const printed = "2006-01-02 15:04:05 -0700"

// local tells a time in a zone, with milliseconds where it has any; empty for the zero time.
func local(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	layout := printed
	if t.UnixMilli()%1000 != 0 {
		layout = strings.Replace(layout, ":05", ":05.000", 1)
	}
	return t.In(zone).Format(layout)
}

// brief tells a time as local does to the second, without the date where that is the one of another time.
func brief(t, other time.Time, zone *time.Location) string {
	const day = time.DateOnly + " -0700"
	switch {
	case t.IsZero():
		return ""
	case t.In(zone).Format(day) == other.In(zone).Format(day):
		return t.In(zone).Format("15:04:05.000")
	}
	return t.In(zone).Format(printed)
}

// tickOfDay tells a tick exactly, without the date on the day of now.
func tickOfDay(t, now time.Time, zone *time.Location) string {
	text, today := local(t, zone), now.In(zone).Format(time.DateOnly+" ")
	if rest, ok := strings.CutPrefix(text, today); ok {
		text, _, _ = strings.Cut(rest, " ")
	}
	return text
}

// clockOffset shows how wrong a clock is: a positive offset is one that is slow.
func clockOffset(offset time.Duration) string {
	switch {
	case offset > 0:
		return offset.String() + " slow"
	case offset < 0:
		return (-offset).String() + " fast"
	}
	return "0s"
}
