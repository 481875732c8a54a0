package page

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// scale places instants on a drawing that is as wide as its place on the page: in percent of it.
type scale struct{ from, to time.Time }

func (s scale) at(t time.Time) float64 {
	length := s.to.Sub(s.from)
	if length <= 0 {
		return 0
	}
	return float64(t.Sub(s.from)) * 100 / float64(length)
}

// span returns where a time from one instant to another begins, within the drawing, and how wide it
// is.
func (s scale) span(from, to time.Time) (x, width float64) {
	x = min(max(s.at(from), 0), 100)
	return x, min(max(s.at(to), x), 100) - x
}

// steps are the distances of the lines of a grid.
var steps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 168 * time.Hour,
}

// grid returns the instants at which a drawing has lines: whole steps by the clock of a zone,
// through its changes.
func (s scale) grid(zone *time.Location) (lines []time.Time, step time.Duration) {
	const most = 9
	for _, step = range steps {
		if s.to.Sub(s.from) <= most*step {
			break
		}
	}
	day := s.from.In(zone)
	for d := 0; d <= 400 && len(lines) <= 2*most; d++ {
		if step > 24*time.Hour && d%int(step/(24*time.Hour)) != 0 {
			continue
		}
		for offset := time.Duration(0); offset < 24*time.Hour; offset += step {
			t := time.Date(day.Year(), day.Month(), day.Day()+d, 0, int(offset/time.Minute), 0, 0, zone)
			if t.After(s.to) {
				return lines, step
			}
			if t.After(s.from) && (len(lines) == 0 || t.After(lines[len(lines)-1])) {
				lines = append(lines, t)
			}
		}
	}
	return lines, step
}

// drawing collects the elements of an SVG.
type drawing struct{ strings.Builder }

// add writes elements. Its arguments are numbers, words of our own, or were escaped.
func (d *drawing) add(format string, arguments ...any) { fmt.Fprintf(&d.Builder, format, arguments...) }

// done returns the SVG, as wide as its place.
func (d *drawing) done(class, label string, height int) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="%s" width="100%%" height="%d" role="group" aria-label="%s">%s</svg>`, class, height, escaped(label), d.String())) //nolint:gosec // see add
}

func escaped(s string) string { return template.HTMLEscapeString(s) }

// displayZone is the zone of an axis that several jobs share.
func (f *frame) displayZone() *time.Location {
	if f.zone != nil {
		return f.zone
	}
	return time.UTC
}

// Axis draws the hours or days between two instants.
func (f *frame) Axis(from, to time.Time) template.HTML {
	s := scale{from, to}
	var d drawing
	f.axis(&d, s, 20)
	return d.done("axis", full(f.in(s.from, ""))+" – "+full(f.in(s.to, "")), 30)
}

// axis writes the labels of a grid at a height, in pixels.
func (f *frame) axis(d *drawing, s scale, y int) {
	lines, step := s.grid(f.displayZone())
	for _, t := range lines {
		x := s.at(t)
		if x < 2 || x > 98 {
			continue
		}
		text := t.Format("15:04")
		if step >= 24*time.Hour || t.Hour() == 0 && t.Minute() == 0 {
			text = f.date(t, t)
		}
		d.add(`<text x="%.2f%%" y="%d" text-anchor="middle">%s</text>`, x, y, escaped(text))
	}
}

// gridLines draws the lines of a grid, to a height.
func (f *frame) gridLines(d *drawing, s scale, height int) {
	lines, _ := s.grid(f.displayZone())
	for _, t := range lines {
		d.add(`<line class="grid" x1="%.2f%%" x2="%.2f%%" y1="0" y2="%d"/>`, s.at(t), s.at(t), height)
	}
}
