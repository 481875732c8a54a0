package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
)

// text is a page as text, as far as it is written.
type text struct {
	render.View
	strings.Builder
}

// text begins a page. Times are in the zone that was asked for, or in that of each job.
func (h Head) text(what, zone string) *text {
	t := &text{View: render.View{Now: h.Now}}
	if zone != "" {
		t.Zone = zoneOf(zone, "")
	}
	t.WriteString(render.Head(t.In(time.UTC), render.Line(what), h.Namespace))
	if h.Stale != "" {
		t.line("as read at %s: %s", t.at(h.ReadAt), h.Stale)
	}
	t.line("")
	return t
}

// of shows times in a job's zone, unless another was asked for.
func (t *text) of(zone string) *text {
	t.View = t.In(zoneOf("", zone))
	return t
}

func (t *text) line(format string, args ...any) {
	t.WriteString(render.Line(fmt.Sprintf(format, args...)) + "\n")
}

// table writes a table without its empty columns, and nothing of one without rows.
func (t *text) table(table *render.Table) { t.WriteString(table.Sparse().Text(t.View)) }

// at formats a time in full.
func (t *text) at(at time.Time) string { return t.In(time.UTC).Full(at) }

func (t *text) events(list []Event) {
	for i, e := range list {
		if i == 0 {
			t.line("")
		}
		t.line("%s  %s", t.at(e.Fact.At), e.Text)
	}
}

// rough writes a duration for people.
func rough(m time.Duration) string {
	d := m
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*day:
		return short(d.Round(time.Second))
	default:
		return strconv.Itoa(int(d.Round(time.Hour)/day)) + "d"
	}
}

// letters are what a strip has for each outcome.
var letters = map[protocol.Outcome]byte{
	protocol.OutcomeSucceeded: '.', "failed": 'F', "missed": 'M', protocol.OutcomeSkipped: 's', protocol.OutcomeLost: 'L',
	protocol.OutcomeReplaced: 'r', protocol.OutcomeCancelled: 'c',
}

func strip(outcomes []protocol.Outcome) string {
	text := make([]byte, len(outcomes))
	for i, o := range outcomes {
		if text[i] = letters[o]; text[i] == 0 {
			text[i] = '?'
		}
	}
	return string(text)
}

func words(states []State) string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = wire.Words(string(s))
	}
	return strings.Join(list, ", ")
}

func more(next string) string {
	if next == "" {
		return ""
	}
	return ", more with after=" + next
}

// PlainText implements [Page].
func (p JobsPage) PlainText() string {
	t := p.text("jobs", p.Query.Zone)
	list := make([]fleet.JobStatus, len(p.Jobs))
	state, newest, replicas := render.Column{Heading: "STATE"}, render.Column{Heading: "NEWEST"}, render.Column{Heading: "REPLICAS"}
	for i, j := range p.Jobs {
		list[i] = *j.status
		state.Texts, newest.Texts = append(state.Texts, words(j.States)), append(newest.Texts, strip(j.Strip))
		replicas.Texts = append(replicas.Texts, j.served())
	}
	t.table(render.Jobs(t.View, list, state, newest, replicas))
	t.line("")
	t.line("%d of %d jobs, %d shown%s", p.Matching, p.Total, len(p.Jobs), more(p.Next))
	return t.String()
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

// PlainText implements [Page].
func (p JobPage) PlainText() string {
	t := p.Head.text(p.Job, p.Query.Zone).of(p.Timezone)
	if p.Unread != "" {
		t.table(render.Jobs(t.View, []fleet.JobStatus{*p.status}))
		t.line("nothing else is known: %s", p.Unread)
		return t.String()
	}
	facts := render.Facts{}
	facts.Add("state", words(p.States))
	d := p.described
	d.Coming = nil
	for _, c := range p.Coming {
		d.Coming = append(d.Coming, c.Tick)
	}
	facts = append(facts, render.Job(t.View, d)...)
	if p.Stored != nil {
		for _, field := range p.Stored.Fields {
			facts.Add(field.Name, field.Value)
		}
	}
	for _, c := range p.ClockChanges {
		facts.Add("clock", c.Text)
	}
	if p.Runs > 0 {
		facts.Add("nine in ten", "took at most "+rough(p.P90))
	}
	if p.Notifications != nil {
		for _, r := range p.Notifications.Receivers {
			text := fmt.Sprintf("%s (%s) was last notified of: %s", r.Name, r.Kind, strings.Join(r.Knows, ", "))
			if len(r.Sent) > 0 {
				text += ", since " + t.at(r.Sent[0].At)
			}
			if r.Waits {
				text += "; it has not taken the newest: " + r.Error
			}
			facts.Add("receiver", text)
		}
	}
	t.WriteString(facts.Text(t.View))
	t.line("")
	t.table(render.History(t.View, p.History))
	t.line("%d of %d outcomes%s", len(p.History), p.Kept, more(p.NextPage))
	t.events(p.Events)
	return t.String()
}
