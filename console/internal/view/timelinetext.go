package view

import (
	"io"
	"strings"
	"unicode/utf8"
)

// textCells is how many characters a row of the timeline has as text.
const textCells = 96

// symbols are what the timeline has as text for what an item shows, the worst first where several
// are in a cell.
var symbols = map[string]byte{
	"lost": 'L', "missed": 'M', "failed": 'F', "gap": '!', "cancelled": 'c', "replaced": 'r', "skipped": 's', "free": '?', "retrying": 'w', "waiting": 'w',
	"running": '>', "succeeded": '=', "coming": '.',
}

// WriteText implements [Page]. A row has a character for each part of the time.
func (p TimelinePage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, "timeline")
	t.linef("from %s to %s; a character is %s", t.at(p.From, ""), t.at(p.To, ""), rough(Millis(p.To.Sub(p.From.Time))/textCells))
	t.line("= succeeded  F failed  > running  s skipped  M missed  L lost  c cancelled  r replaced  w waiting  ? free  ! nothing known  . coming  T taken over  | now")
	t.line("")
	width := 0
	for _, r := range p.Rows {
		width = max(width, utf8.RuneCountInString(r.Job))
	}
	for _, r := range p.Rows {
		t.line(r.Job + strings.Repeat(" ", width-utf8.RuneCountInString(r.Job)+1) + p.cells(r) + " " + r.Unread)
	}
	t.line("")
	for _, c := range p.ClockChanges {
		t.linef("%s  the clock of %s changes by %s", t.at(c.At, c.Timezone), c.Timezone, c.Shift.Duration())
	}
	t.linef("%d of %d jobs, %d shown%s", p.Matching, p.Total, len(p.Rows), more(p.Next))
	return t.err
}

func (p TimelinePage) cells(r TimelineRow) string {
	line := []byte(strings.Repeat(" ", textCells))
	rank := make([]int, textCells)
	span := p.To.Sub(p.From.Time)
	place := func(t Time) int { return min(max(0, int(t.Sub(p.From.Time)*textCells/span)), textCells-1) }
	if now := place(p.Now); p.Now.After(p.From.Time) && p.Now.Before(p.To.Time) {
		line[now] = '|'
	}
	for _, i := range r.Items {
		word := i.word()
		if i.Kind == ItemDense {
			word = i.Outcome
		}
		symbol, ok := symbols[word]
		if !ok {
			symbol = '*'
		}
		urgency := len(severities) - i.severity()
		for n := place(i.From); n <= place(i.To); n++ {
			if urgency > rank[n] {
				line[n], rank[n] = symbol, urgency
			}
		}
		for _, at := range i.TakenOver {
			if n := place(at); at.After(p.From.Time) {
				line[n], rank[n] = 'T', len(severities)+1
			}
		}
	}
	return string(line)
}
