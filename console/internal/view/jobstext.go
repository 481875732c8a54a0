package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

// WriteText implements [Page].
func (p JobsPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, "jobs")
	rows := [][]string{{"JOB", "SCHEDULE", "ZONE", "STATE", "NEWEST", "LAST RUN", "OUTCOME", "NEXT", "IN", "NOW", "REPLICAS", "NOTE"}}
	for _, j := range p.Jobs {
		row := []string{j.Job, j.ScheduleWords, j.Timezone, states(j.States), strip(j.Strip), "", "", t.at(j.Next, j.Timezone), "", j.doing(&t), j.served(), j.note(&t)}
		if j.LastRun != nil {
			row[5], row[6] = t.at(Time{j.LastRun.Moment()}, j.Timezone), wire.Words(string(j.LastRun.Outcome))
		}
		if !j.Next.IsZero() {
			row[8] = rough(j.NextIn)
		}
		rows = append(rows, row)
	}
	t.table(rows)
	t.line("")
	t.linef("%d of %d jobs, %d shown%s", p.Matching, p.Total, len(p.Jobs), more(p.Next))
	return t.err
}

// doing names the replicas that run the job, and since when.
func (j JobRow) doing(t *textWriter) string {
	var parts []string
	for _, e := range j.Open {
		switch e.State {
		case wire.StateRunning:
			parts = append(parts, fmt.Sprintf("on %s since %s", e.Replica, t.at(Time{e.Started}, j.Timezone)))
		case wire.StateRetrying:
			parts = append(parts, fmt.Sprintf("failed on %s, again at %s", e.Replica, t.at(Time{e.Failing.Next}, j.Timezone)))
		case wire.StateWaiting:
			parts = append(parts, "waits")
		default:
			parts = append(parts, "awaits takeover")
		}
	}
	const most = 3
	if n := len(parts); n > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(parts, "; ")
}

func (j JobRow) served() string {
	const most = 3
	switch n := len(j.Replicas); {
	case j.Unserved:
		return "none"
	case n > most:
		return strings.Join(j.Replicas[:most], ", ") + " and " + strconv.Itoa(n-most) + " more"
	}
	return strings.Join(j.Replicas, ", ")
}

// note names everything unusual.
func (j JobRow) note(t *textWriter) string {
	var parts []string
	if j.Paused != nil {
		parts = append(parts, j.Paused.text(t, j.Timezone))
	}
	if j.PausedHere {
		parts = append(parts, "paused by the configuration")
	}
	if !j.Overdue.IsZero() {
		parts = append(parts, "overdue since "+t.at(j.Overdue, j.Timezone))
	}
	if j.Ahead > 0 {
		parts = append(parts, "its watermark lies "+rough(j.Ahead)+" in the future")
	}
	for _, d := range j.Definitions {
		parts = append(parts, fmt.Sprintf("revision %s on %s", d.Revision, strings.Join(d.Replicas, " ")))
	}
	return strings.Join(parts, "; ")
}

func (p *Pause) text(t *textWriter, zone string) string {
	text := fmt.Sprintf("paused by %s since %s", p.By, t.at(p.Since, zone))
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// WriteText implements [Page].
func (p JobPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, p.Job)
	spec := strings.TrimSpace(p.Schedule + " " + p.Timezone)
	if p.ScheduleWords != p.Schedule {
		spec = strings.TrimPrefix(spec+": "+p.ScheduleWords, ": ")
	}
	t.fact("schedule", spec)
	t.fact("state", states(p.States))
	t.fact("now", p.doing(&t))
	t.fact("served by", p.served())
	t.fact("note", p.note(&t))
	for i, c := range p.Coming {
		name := ""
		if i == 0 {
			name = "next"
		}
		t.fact(name, strings.TrimRight(fmt.Sprintf("%s, in %s  %s", t.at(c.Tick, p.Timezone), rough(c.In), c.Text), " "))
	}
	for _, c := range p.ClockChanges {
		t.fact("clock", c.Text)
	}
	if p.Runs > 0 {
		t.fact("durations", fmt.Sprintf("median %s, nine in ten %s, longest %s, of %d runs", rough(p.Median), rough(p.P90), rough(p.Longest), p.Runs))
	}
	for _, d := range p.Defined {
		t.fact("definition", fmt.Sprintf("revision %s on %s", d.Revision, strings.Join(d.Replicas, ", ")))
	}
	t.fact("differs", strings.Join(p.Differences, ", "))
	for _, f := range p.Fields {
		t.fact("", f.Name+": "+f.Value)
	}
	if p.Notifications != nil {
		for _, r := range p.Notifications.Receivers {
			text := fmt.Sprintf("%s (%s) was last notified of: %s", r.Name, r.Kind, strings.Join(r.Knows, ", "))
			if len(r.Sent) > 0 {
				text += ", since " + t.at(r.Sent[0].At, p.Timezone)
			}
			if r.Waits {
				text += "; it has not taken the newest: " + r.Error
			}
			t.fact("receiver", text)
		}
	}
	t.line("")
	rows := [][]string{historyHeadings}
	for _, e := range p.History {
		rows = append(rows, t.historyRow(e, p.Timezone))
	}
	t.table(rows)
	t.linef("%d of %d outcomes%s", len(p.History), p.Kept, more(p.NextPage))
	t.events(p.Events, p.Timezone)
	return t.err
}

var historyHeadings = []string{"TICK", "OUTCOME", "STARTED", "TOOK", "REPLICA", "TOKEN", "ATTEMPTS", "REASON", "ERROR"}

func (t *textWriter) historyRow(e fleet.Entry, zone string) []string {
	row := []string{t.at(Time{e.Scheduled}, zone), wire.Words(string(e.Outcome)), "", "", e.Replica, "", "", wire.Words(e.Reason), ""}
	if e.IsRange() {
		row[0] = t.at(Time{e.From}, zone) + " to " + row[0]
	}
	if e.Token != 0 {
		row[2], row[3], row[5], row[6] = t.at(Time{e.Started}, zone), rough(Millis(e.Took())), strconv.FormatInt(e.Token, 10), strconv.Itoa(e.Attempts)
	}
	row[8], _, _ = strings.Cut(e.Error, "\n")
	return row
}

func (t *textWriter) events(list []Event, zone string) {
	for i, e := range list {
		if i == 0 {
			t.line("")
		}
		t.linef("%s  %s", t.at(Time{e.Fact.At}, zone), e.Text)
	}
}
