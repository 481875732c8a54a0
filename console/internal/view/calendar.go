package view

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/fleet"
)

// CalendarQuery asks for a [Calendar].
type CalendarQuery struct {
	JobFilter
	Span time.Duration `json:"span_ms"`
}

func (q *CalendarQuery) bind(p *Parameters) {
	q.JobFilter.Bind(p)
	p.duration("span", &q.Span, day, 366*day, 14*day)
}

// The most entries of a calendar, and of one job: calendar programs read all of them again and
// again.
const (
	mostCalendar    = 5000
	mostCalendarJob = 100
)

// Calendar is a calendar of coming ticks, pauses and clock changes, as RFC 5545 writes it. Jobs
// that tick more often than can be shown are in it with their first ticks, of which the last says
// so.
func Calendar(s *Snapshot, q CalendarQuery, now time.Time) []byte {
	c := &calendarWriter{now: now, namespace: s.Status.Namespace}
	c.line("BEGIN:VCALENDAR")
	c.line("VERSION:2.0")
	c.line("PRODID:-//solotick//console//EN")
	c.line("CALSCALE:GREGORIAN")
	c.text("X-WR-CALNAME", "solotick "+s.Status.Namespace)
	found, _ := JobsQuery{JobFilter: q.JobFilter, Sort: SortName}.find(s)
	for _, f := range found {
		if c.entries >= mostCalendar {
			break
		}
		c.job(s, &s.Status.Jobs[f.index], now.Add(q.Span))
	}
	c.line("END:VCALENDAR")
	return c.buf.Bytes()
}

type calendarWriter struct {
	buf       bytes.Buffer
	now       time.Time
	namespace string
	entries   int
}

func (c *calendarWriter) job(s *Snapshot, j *fleet.JobStatus, until time.Time) {
	sched := s.schedule(j)
	if p := j.Paused; p != nil {
		text := "paused by " + p.By
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		c.event(j.Name, "pause", p.Since, until, j.Name+" is paused", text)
	}
	if sched == nil {
		return
	}
	words := wordsIn(sched, j.Schedule, false, nil) + " (" + sched.Location().String() + ")"
	length := time.Minute
	if j.LastRun != nil && ran(j.LastRun) {
		length = max(length, j.LastRun.Took())
	}
	if j.Paused != nil || j.Spec.Paused {
		words += "\nIt will be skipped unless the job is resumed before."
	}
	n := 0
	for at := sched.Next(c.now); !at.IsZero() && !at.After(until) && c.entries < mostCalendar; at = sched.Next(at) {
		text := words
		if n++; n == mostCalendarJob {
			text += "\nMore ticks follow, which this calendar has no room for."
		}
		c.event(j.Name, "tick", at, at.Add(length), j.Name, text)
		if n == mostCalendarJob {
			break
		}
	}
	for _, change := range sched.ClockChanges(c.now, until) {
		c.event(j.Name, "clock", change.At, change.At.Add(time.Minute), j.Name+": the clock changes", change.String())
	}
}

const calendarTime = "20060102T150405Z"

func (c *calendarWriter) event(job, kind string, from, to time.Time, summary, text string) {
	c.entries++
	c.line("BEGIN:VEVENT")
	c.line(fmt.Sprintf("UID:%s-%s-%d@%s.solotick", kind, job, from.UnixMilli(), c.namespace))
	c.line("DTSTAMP:" + c.now.UTC().Format(calendarTime))
	c.line("DTSTART:" + from.UTC().Format(calendarTime))
	c.line("DTEND:" + to.UTC().Format(calendarTime))
	c.text("SUMMARY", summary)
	c.text("DESCRIPTION", text)
	c.line("CATEGORIES:" + strings.ToUpper(kind))
	c.line("TRANSP:TRANSPARENT")
	c.line("END:VEVENT")
}

var calendarEscapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

// text writes a property whose value is text.
func (c *calendarWriter) text(name, value string) {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(value, "\uFFFD"))
	c.line(name + ":" + calendarEscapes.Replace(clean))
}

// line writes a line of content, folded so that no part of it is longer than 75 bytes, without
// breaking a character.
func (c *calendarWriter) line(s string) {
	const most = 75
	room := most
	for len(s) > room {
		n := room
		for !utf8.RuneStart(s[n]) {
			n--
		}
		c.buf.WriteString(s[:n] + "\r\n ")
		s, room = s[n:], most-1 // the space that a continuation begins with counts
	}
	c.buf.WriteString(s + "\r\n")
}
