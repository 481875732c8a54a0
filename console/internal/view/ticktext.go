package view

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
)

// PlainText implements [Page].
func (p TickPage) PlainText() string {
	t := p.text(p.explained.String())
	t.events(p.Events)
	return t.String()
}

// text begins with what became of the tick, and has its attempts.
func (p TickPage) text(fate string) *text {
	t := p.Head.text(p.Job, p.Query.Zone).of(p.Timezone)
	t.WriteString(render.Lines(fate) + "\n\n")
	var facts render.Facts
	facts.Add("id", p.ID)
	if p.Lateness > 0 {
		facts.Add("late by", rough(p.Lateness))
	}
	t.WriteString(facts.Text(t.View))
	table := render.NewTable("ATTEMPT", "REPLICA", "TOKEN", "GRANTED", "STARTED", "ENDED", "TOOK", "END", "NEXT BY", "RENEWALS", "MARGIN", "ERROR")
	for _, a := range p.Attempts {
		took, renewals, margin := "", "", ""
		if !a.Ended.IsZero() {
			took = rough(a.Took)
		}
		if a.Renewals > 0 {
			renewals, margin = strconv.Itoa(a.Renewals), rough(a.Margin)
		}
		table.Add(render.Row(
			strconv.Itoa(a.Attempt), a.Replica, strconv.FormatInt(a.Token, 10), t.at(a.Granted), t.at(a.Started), t.at(a.Ended), took, wire.Words(a.End),
			a.NextBy, renewals, margin, a.Error,
		)...)
	}
	t.line("")
	t.table(table)
	return t
}

// PlainText implements [Page].
func (p WhyPage) PlainText() string {
	t := p.text(render.Why(p.explained))
	table := render.NewTable("ASKED", "AT", "ANSWER", "WHY")
	for _, a := range p.Asked {
		table.Add(render.Row(a.By, t.at(a.At), wire.Words(string(a.Answer)), a.Text)...)
	}
	t.line("")
	t.table(table)
	t.events(p.Events)
	return t.String()
}

// textCells is how many characters a row of the timeline has as text.
const textCells = 96

// symbols are what the timeline has as text for what an item shows, the worst first where several
// are in a cell.
var symbols = map[string]byte{
	"lost": 'L', "missed": 'M', "failed": 'F', "gap": '!', "cancelled": 'c', "replaced": 'r', "skipped": 's', "free": '?', "retrying": 'w', "waiting": 'w',
	"running": '>', "succeeded": '=', "coming": '.',
}

// PlainText implements [Page]. A row has a character for each part of the time.
func (p TimelinePage) PlainText() string {
	t := p.text("timeline", p.Query.Zone)
	t.line("from %s to %s; a character is %s", t.at(p.From), t.at(p.To), rough(p.To.Sub(p.From)/textCells))
	t.line("= succeeded  F failed  > running  s skipped  M missed  L lost  c cancelled  r replaced  w waiting  ? free  ! nothing known  . coming  T taken over  | now")
	t.line("")
	width := 0
	for _, r := range p.Rows {
		width = max(width, utf8.RuneCountInString(r.Job))
	}
	for _, r := range p.Rows {
		t.line("%-*s %s %s", width, r.Job, p.cells(r), r.Unread)
	}
	t.line("")
	for _, c := range p.ClockChanges {
		t.line("%s  the clock of %s changes by %s", render.Time(c.At, zoneOf(p.Query.Zone, c.Timezone)), c.Timezone, c.Shift)
	}
	t.line("%d of %d jobs, %d shown%s", p.Matching, p.Total, len(p.Rows), more(p.Next))
	return t.String()
}

func (p TimelinePage) cells(r TimelineRow) string {
	line := []byte(strings.Repeat(" ", textCells))
	rank := make([]int, textCells)
	span := p.To.Sub(p.From)
	place := func(t time.Time) int { return min(max(0, int(t.Sub(p.From)*textCells/span)), textCells-1) }
	if now := place(p.Now); p.Now.After(p.From) && p.Now.Before(p.To) {
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
			if n := place(at); at.After(p.From) {
				line[n], rank[n] = 'T', len(severities)+1
			}
		}
	}
	return string(line)
}
