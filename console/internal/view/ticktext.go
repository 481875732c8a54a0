package view

import (
	"io"
	"strconv"
	"strings"

	"github.com/solotick/solotick/internal/wire"
)

// WriteText implements [Page].
func (p TickPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	p.text(&t)
	t.events(p.Events, p.Timezone)
	return t.err
}

func (p TickPage) text(t *textWriter) {
	t.head(p.Head, p.Job)
	t.fact("tick", t.at(p.Tick, p.Timezone))
	t.fact("id", p.ID)
	t.fact("verdict", wire.Words(p.Verdict))
	for i, line := range strings.Split(p.Text, "\n") {
		t.fact([]string{"what", ""}[min(i, 1)], line)
	}
	if p.Lateness > 0 {
		t.fact("late by", rough(p.Lateness))
	}
	rows := [][]string{{"ATTEMPT", "REPLICA", "TOKEN", "GRANTED", "STARTED", "ENDED", "TOOK", "END", "NEXT BY", "RENEWALS", "MARGIN", "ERROR"}}
	for _, a := range p.Attempts {
		took, renewals, margin := "", "", ""
		if !a.Ended.IsZero() {
			took = rough(a.Took)
		}
		if a.Renewals > 0 {
			renewals, margin = strconv.Itoa(a.Renewals), rough(a.Margin)
		}
		rows = append(rows, []string{
			strconv.Itoa(a.Number), a.Replica, strconv.FormatInt(a.Token, 10), t.at(a.Granted, p.Timezone), t.at(a.Started, p.Timezone),
			t.at(a.Ended, p.Timezone), took, wire.Words(a.End), a.NextBy, renewals, margin, a.Error,
		})
	}
	t.line("")
	t.table(rows)
}

// WriteText implements [Page].
func (p WhyPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	p.TickPage.text(&t)
	t.fact("policy", p.Policy)
	t.fact("remedy", p.Remedy)
	rows := [][]string{{"ASKED", "AT", "ANSWER", "WHY"}}
	for _, a := range p.Asked {
		rows = append(rows, []string{a.By, t.at(a.At, p.Timezone), wire.Words(string(a.Answer)), a.Text})
	}
	t.line("")
	t.table(rows)
	t.events(p.Events, p.Timezone)
	return t.err
}
