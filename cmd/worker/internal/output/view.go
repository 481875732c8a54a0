package output

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// View is how a command shows what it has found out: for people in a terminal, with times as they read them and within its
// width, or in full for whatever reads a pipe.
type View struct {
	Human   bool
	Colours bool
	Width   int       // of a line for people
	Now     time.Time // by which times are relative
}

// The widths of a table for people: of a terminal that does not say its own, and the least.
const defaultWidth, leastWidth = 120, 80

// NewView returns the view of w. NO_COLOR in the environment prevents colours.
func NewView(w io.Writer, env func(string) (string, bool), now time.Time) View {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return View{Now: now}
	}
	v := View{Human: true, Colours: Colours(w, env), Width: defaultWidth, Now: now}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		v.Width = max(width, leastWidth)
	}
	return v
}

// When tells a time: of a terminal when it is to come or was, and its short stamp; otherwise in full. It is empty for the
// zero time.
func (v View) When(t time.Time, zone *time.Location) string {
	if !v.Human || t.IsZero() {
		return Time(t, zone)
	}
	return v.Relative(t) + ", " + v.Stamp(t, zone)
}

// Ago tells how long ago a time was, or when it is to come; otherwise the time in full.
func (v View) Ago(t time.Time, zone *time.Location) string {
	if !v.Human || t.IsZero() {
		return Time(t, zone)
	}
	return v.Relative(t)
}

// Tick tells a tick or a moment of one, which people look for by its clock time.
func (v View) Tick(t time.Time, zone *time.Location) string {
	if !v.Human || t.IsZero() {
		return Time(t, zone)
	}
	return v.Stamp(t, zone)
}

// Stamp tells a time of a day that people know by its name, or by its date: 02:00, Tue 02:00, 31 Dec 02:00,
// 2027-12-31 02:00. It has the seconds where they are not 0, and the milliseconds of what lies within two days of now.
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

// Relative tells how far a time is from now, in its largest unit, or two where that is small: in 2 s, 1 h 19 min ago.
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

// Duration tells a duration from half a second on.
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
