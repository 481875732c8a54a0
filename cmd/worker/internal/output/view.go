package output

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// View is how a command prints: for people in a terminal, within its width and with relative times,
// or in full for programs.
type View struct {
	Human   bool
	Colours bool
	Width   int       // of a terminal, in characters
	Now     time.Time // to which times are relative
}

// The width of a terminal that does not report one, and the least that tables use.
const defaultWidth, minWidth = 120, 80

// NewView returns the view of w. NO_COLOR in the environment prevents colours.
func NewView(w io.Writer, env func(string) (string, bool), now time.Time) View {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return View{Now: now}
	}
	v := View{Human: true, Colours: Colours(w, env), Width: defaultWidth, Now: now}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		v.Width = max(width, minWidth)
	}
	return v
}

// When formats a time: for people relative to now and as a stamp, else in full. It is empty for the
// zero time.
func (v View) When(t time.Time, zone *time.Location) string {
	if !v.Human || t.IsZero() {
		return Time(t, zone)
	}
	return v.Relative(t) + ", " + v.Stamp(t, zone)
}

// Ago formats a time: for people relative to now, else in full. It is empty for the zero time.
func (v View) Ago(t time.Time, zone *time.Location) string {
	if !v.Human || t.IsZero() {
		return Time(t, zone)
	}
	return v.Relative(t)
}

// Tick formats a tick, or a time in its run: for people as a stamp, else in full. It is empty for
// the zero time.
func (v View) Tick(t time.Time, zone *time.Location) string {
	if !v.Human || t.IsZero() {
		return Time(t, zone)
	}
	return v.Stamp(t, zone)
}

// Stamp formats a time with as much of its date as people need: 02:00, Tue 02:00, 31 Dec 02:00,
// 2027-12-31 02:00. It shows seconds unless they are 0, and milliseconds only within two days of
// now.
func (v View) Stamp(t time.Time, zone *time.Location) string {
	t, now := t.In(zone), v.Now.In(zone)
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
