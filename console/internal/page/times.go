package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"sync"
	"time"
)

// locations keeps the zones that were loaded: to load one reads files.
var locations sync.Map

// location returns the zone of a name; nil for "", and for one that this machine does not know.
func location(name string) *time.Location {
	if name == "" {
		return nil
	}
	if found, ok := locations.Load(name); ok {
		return found.(*time.Location)
	}
	found, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	locations.Store(name, found)
	return found
}

// in returns t in the zone that the viewer chose, or else in that of its job or of the job that the
// page is about, or else in UTC.
func (f *frame) in(t time.Time, jobZone string) time.Time {
	if f.zone != nil {
		return t.In(f.zone)
	}
	if zone := location(cmp.Or(jobZone, f.jobZone)); zone != nil {
		return t.In(zone)
	}
	return t.UTC()
}

// ZoneSaid says in which zone the times of the page are.
func (f *frame) ZoneSaid() string {
	if f.zone == nil && f.name == "jobs" {
		return f.T("Times are in %s.", f.T("the zone of each job"))
	}
	if f.zone == nil && f.name == "schedules" {
		return f.T("Times are in %s.", f.T("the zone of each schedule"))
	}
	return f.T("Times are in %s.", f.in(f.Now, "").Location())
}

// At writes an instant: the time of day, with the date on another day than today's. What it is in
// the zone of the job, in that of the viewer and in UTC is its title.
func (f *frame) At(t time.Time, jobZone string) template.HTML {
	if t.IsZero() {
		return ""
	}
	here := f.in(t, jobZone)
	text := here.Format("15:04:05")
	if now := f.in(f.Now, jobZone); here.YearDay() != now.YearDay() || here.Year() != now.Year() {
		text = f.date(here, now) + " " + here.Format("15:04")
	}
	return element(t, text, f.zones(t, jobZone))
}

// Full writes an instant with its date and zone.
func (f *frame) Full(t time.Time, jobZone string) template.HTML {
	if t.IsZero() {
		return ""
	}
	return element(t, full(f.in(t, jobZone)), f.zones(t, jobZone))
}

func element(t time.Time, text, title string) template.HTML {
	return template.HTML(`<time datetime="` + t.UTC().Format("2006-01-02T15:04:05.000Z") + `" title="` + template.HTMLEscapeString(title) + `">` + //nolint:gosec // what is not ours is escaped
		template.HTMLEscapeString(text) + `</time>`)
}

// full writes a time with its zone, with milliseconds only where it has some.
func full(t time.Time) string {
	layout := "2006-01-02 15:04:05"
	if t.Nanosecond() >= 1e6 {
		layout += ".000"
	}
	return t.Format(layout) + " " + zoneName(t)
}

// zoneName is the zone's short name, or its offset where it has none.
func zoneName(t time.Time) string {
	name, _ := t.Zone()
	if strings.ContainsAny(name, "+-") {
		return "UTC" + t.Format("-07:00")
	}
	return name
}

// zones writes an instant in each zone that matters.
func (f *frame) zones(t time.Time, jobZone string) string {
	var list []string
	for _, zone := range []*time.Location{location(cmp.Or(jobZone, f.jobZone)), f.zone, time.UTC} {
		if zone == nil {
			continue
		}
		text := full(t.In(zone))
		if zone != time.UTC && zone.String() != "UTC" {
			text += " (" + zone.String() + ")"
		}
		if len(list) == 0 || list[len(list)-1] != text {
			list = append(list, text)
		}
	}
	return strings.Join(list, "\n")
}

// date writes the day of t, with its year where it is another than now's.
func (f *frame) date(t, now time.Time) string {
	layout := "2 Jan"
	if f.Lang == Chinese {
		layout = "1月2日"
	}
	if t.Year() != now.Year() {
		layout += " 2006"
		if f.Lang == Chinese {
			layout = "2006年1月2日"
		}
	}
	return t.Format(layout)
}

// Away says how far an instant is from now: in 3 min, 5 h ago.
func (f *frame) Away(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := t.Sub(f.Now)
	switch {
	case d > -time.Second && d < time.Second:
		return f.T("now")
	case d > 0:
		return f.T("time.in", f.Rough(d))
	}
	return f.T("%s ago", f.Rough(-d))
}

// units of durations, the longest first.
var units = []struct {
	length time.Duration
	text   string
}{{24 * time.Hour, "%d d"}, {time.Hour, "%d h"}, {time.Minute, "%d min"}, {time.Second, "%d s"}}

// Rough writes a duration with one unit, or two where the first is small.
func (f *frame) Rough(d time.Duration) string {
	if d < 0 {
		return "-" + f.Rough(-d)
	}
	for i, unit := range units {
		n := d / unit.length
		if n == 0 {
			continue
		}
		text := f.T(unit.text, int(n))
		if rest := d % unit.length; n < 3 && i+1 < len(units) && rest >= units[i+1].length {
			text += " " + f.T(units[i+1].text, int(rest/units[i+1].length))
		}
		return text
	}
	return f.T("%d ms", int(d/time.Millisecond))
}

// Took writes how long something lasted, to three digits.
func (f *frame) Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return f.T("%d ms", int(d.Round(time.Millisecond)/time.Millisecond))
	case d < 10*time.Second:
		return f.T("%s s", fmt.Sprintf("%.2f", d.Seconds()))
	case d < time.Minute:
		return f.T("%s s", fmt.Sprintf("%.1f", d.Seconds()))
	default:
		return f.Rough(d)
	}
}

// Second is now, in whole seconds.
func (f *frame) Second() time.Time { return f.Now.Truncate(time.Second) }
