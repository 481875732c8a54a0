package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// View is how text is shown: for people in a terminal, within its width and with relative times, or
// in full for programs.
type View struct {
	Human   bool
	Colours bool
	Width   int            // of a terminal, in characters
	Now     time.Time      // to which times are relative
	Zone    *time.Location // of times; nil for the zone of each job
}

// In returns the view of what has a time zone: v, with times in that zone unless v has one.
func (v View) In(zone *time.Location) View {
	v.Zone = cmp.Or(v.Zone, zone)
	return v
}

// Full formats a time in full. It is empty for the zero time.
func (v View) Full(t time.Time) string { return Time(t, v.Zone) }

// When formats a time: for people relative to now and as a stamp, else in full. It is empty for the
// zero time.
func (v View) When(t time.Time) string {
	if !v.Human || t.IsZero() {
		return v.Full(t)
	}
	return v.Relative(t) + ", " + v.Stamp(t)
}

// Ago formats a time: for people relative to now, else in full. It is empty for the zero time.
func (v View) Ago(t time.Time) string {
	if !v.Human || t.IsZero() {
		return v.Full(t)
	}
	return v.Relative(t)
}

// Tick formats a tick, or a time in its run: for people as a stamp, else in full. It is empty for
// the zero time.
func (v View) Tick(t time.Time) string {
	if !v.Human || t.IsZero() {
		return v.Full(t)
	}
	return v.Stamp(t)
}

// Stamp formats a time with as much of its date as people need: 02:00, Tue 02:00, 31 Dec 02:00,
// 2027-12-31 02:00. It shows seconds unless they are 0, and milliseconds only within two days of
// now.
func (v View) Stamp(t time.Time) string {
	t, now := t.In(v.Zone), v.Now.In(v.Zone)
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	days := int(day(t).Sub(day(now)).Hours() / 24)
	clock := "15:04:05"
	switch {
	case t.UnixMilli()%1000 != 0 && days >= -2 && days <= 2:
		clock = "15:04:05.000"
	case t.UnixMilli()%60_000 == 0:
		clock = "15:04"
	}
	switch {
	case days == 0:
		return t.Format(clock)
	case days > -7 && days < 7:
		return t.Format("Mon " + clock)
	case t.Year() == now.Year() || max(days, -days) < 300:
		return t.Format("2 Jan " + clock)
	default:
		return t.Format("2006-01-02 " + clock)
	}
}

// Relative formats the distance of a time from now: in 2 s, 1 h 19 min ago.
func (v View) Relative(t time.Time) string {
	d := t.Sub(v.Now)
	if d.Abs() < 500*time.Millisecond {
		return "now"
	}
	if d < 0 {
		return Duration(-d) + " ago"
	}
	return "in " + Duration(d)
}

// Duration formats a duration in its largest unit, and in two where the first is below 10. It is at
// least 1 s.
func Duration(d time.Duration) string {
	s := int64((d + 500*time.Millisecond) / time.Second)
	two := func(n int64, unit string, rest int64, lesser string) string {
		if n >= 10 || rest == 0 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		return fmt.Sprintf("%d %s %d %s", n, unit, rest, lesser)
	}
	const minute, hour, day = 60, 3600, 86400
	switch {
	case s < minute:
		return fmt.Sprintf("%d s", max(s, 1))
	case s < hour:
		return two(s/minute, "min", s%minute, "s")
	case s < 2*day:
		return two(s/hour, "h", s%hour/minute, "min")
	default:
		return two(s/day, "d", s%day/hour, "h")
	}
}

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

// near formats a time without its date where other has the same date, else in full to the second.
func (v View) near(t, other time.Time) string {
	const day = time.DateOnly + " -0700"
	switch {
	case t.IsZero():
		return ""
	case t.In(v.Zone).Format(day) == other.In(v.Zone).Format(day):
		return t.In(v.Zone).Format("15:04:05.000")
	}
	return t.In(v.Zone).Format(TimeLayout)
}

// ofDay formats a time in full, without its date where that is the date of now.
func (v View) ofDay(t time.Time) string {
	text, today := v.Full(t), v.Now.In(v.Zone).Format(time.DateOnly+" ")
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
