package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// Urgent reports whether something is wrong with a job, or it is paused.
func (f *frame) Urgent(j view.JobRow) bool {
	return slices.ContainsFunc(j.Open, func(e fleet.Entry) bool { return e.Failing != nil }) ||
		!j.Overdue.IsZero() || j.Unserved || j.Ahead > 0 || len(j.Definitions) > 0 || j.Paused != nil || j.PausedHere
}

// Cut shortens a text for a row.
func (f *frame) Cut(s string) string {
	const most = 160
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(s) > most {
		s, more = string([]rune(s)[:most]), true
	}
	if more {
		s += " …"
	}
	return s
}

// Joined writes a list in one line.
func (f *frame) Joined(list []string) string { return strings.Join(list, f.T(", ")) }

// Share returns which part of the ticks that are kept succeeded.
func (f *frame) Share(counts map[protocol.Outcome]int) string {
	total := 0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return "–"
	}
	good := counts[protocol.OutcomeSucceeded]
	percent := float64(good) * 100 / float64(total)
	if percent > 99.9 && good < total {
		percent = 99.9 // 100 is said of all only
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", percent), ".0") + " %"
}

// Sums writes how many ticks have each outcome.
func (f *frame) Sums(counts map[protocol.Outcome]int) string {
	return counted(f, counts)
}

// Zones writes an instant in the zone of its job, in the one that was chosen, and in UTC.
func (f *frame) Zones(at time.Time, jobZone string) string {
	return strings.ReplaceAll(f.zones(at, jobZone), "\n", " · ")
}

// ClockChange says what a zone's clock does.
func (f *frame) ClockChange(c view.ZoneChange) string {
	text := "The clock of %s goes forward by %s at %s."
	if c.Shift < 0 {
		text = "The clock of %s goes back by %s at %s."
	}
	return f.T(text, c.Timezone, f.Rough(max(c.Shift, -c.Shift)), full(f.in(c.At, c.Timezone)))
}

// Micros writes a number of microseconds.
func (f *frame) Micros(us int64) string { return fmt.Sprintf("%.2f ms", float64(us)/1000) }

// Offset writes by how much a clock is off.
func (f *frame) Offset(d time.Duration) string {
	sign := ""
	switch {
	case d >= time.Millisecond:
		sign = "+"
	case d <= -time.Millisecond:
		sign, d = "−", -d
	default:
		d = 0
	}
	return sign + f.Took(d)
}

// Good returns how many checks of the page have found nothing wrong.
func (p part) Good() (n int) {
	shown, _ := p.V.(view.FleetPage)
	for _, f := range shown.Store.Findings {
		if f.Severity == "ok" {
			n++
		}
	}
	return n
}

// Bytes writes a number of bytes.
func (f *frame) Bytes(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Number writes a number with its thousands apart.
func (f *frame) Number(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Less subtracts.
func (f *frame) Less(a, b int) int { return a - b }

// Capacity draws how much of what a replica can run is in use.
func (f *frame) Capacity(used, most int) template.HTML {
	if most == 0 {
		return template.HTML(template.HTMLEscapeString(f.T("%d, no limit", used))) //nolint:gosec // escaped
	}
	width := 100 * min(used, most) / most
	return template.HTML(fmt.Sprintf(`<span class="num">%d / %d</span><svg class="gauge" width="120" height="8" aria-hidden="true"><rect width="100%%" height="8" rx="4" class="rail"/><rect width="%d%%" height="8" rx="4" class="bar"/></svg>`, used, most, width)) //nolint:gosec // of numbers
}

// Since returns how long ago an instant was.
func (f *frame) Since(at time.Time) time.Duration { return max(0, f.Now.Sub(at)) }
