package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/render"
)

// PlainText implements [Page].
func (p FleetPage) PlainText() string {
	t := p.text("fleet", p.Query.Zone)
	var list []fleet.Replica
	leads, clock := render.Column{Heading: "LEADS"}, render.Column{Heading: "STORE'S CLOCK"}
	for _, rows := range [][]ReplicaRow{p.Replicas, p.Gone} {
		for _, r := range rows {
			opinion := r.Clock
			if opinion == heartbeat.ClockTrusted {
				opinion = ""
			}
			list, leads.Texts, clock.Texts = append(list, r.replica), append(leads.Texts, strings.Join(r.Leads, ",")), append(clock.Texts, opinion)
		}
	}
	t.table(render.Replicas(t.View, list, leads, clock))
	t.line("")
	var facts render.Facts
	facts.Add("store", strings.TrimSpace(p.Store.Kind+" "+p.Store.Server+" "+p.Store.Address))
	if p.Store.Latency > 0 {
		facts.Add("latency", (time.Duration(p.Store.Latency) * time.Microsecond).String())
	}
	facts.Add("clock", fmt.Sprintf("%s from this machine's", p.Store.ClockOffset))
	facts.Add("remembers", "since "+t.at(p.Since))
	for _, f := range p.Store.Findings {
		facts.Add(f.Severity, strings.TrimSpace(strings.TrimSpace(f.Check+" "+f.Server)+": "+f.Text+" "+f.Hint))
	}
	p.Notifications.facts(t, &facts)
	t.WriteString(facts.Text(t.View))
	t.events(p.Events)
	return t.String()
}

// facts says who is notified.
func (n *Notifications) facts(t *text, facts *render.Facts) {
	if n == nil || len(n.Receivers) == 0 {
		return
	}
	facts.Add("notifier", fmt.Sprintf("%s, at %s", n.By, t.at(n.At)))
	for _, r := range n.Receivers {
		text := fmt.Sprintf("%s (%s)", r.Name, r.Kind)
		if r.Last != nil {
			text += fmt.Sprintf(", took %s %s at %s", r.Last.Job, r.Last.Condition, t.at(r.Last.At))
		}
		if r.Waiting > 0 {
			text += fmt.Sprintf(", has not taken those of %d jobs since %s: %s", r.Waiting, t.at(r.WaitingSince), r.Error)
		}
		facts.Add("receiver", text)
	}
}

// PlainText implements [Page].
func (p LocksPage) PlainText() string {
	t := p.text("locks", p.Query.Zone)
	table := render.NewTable("LOCK", "WHO", "TOKEN", "PERMITS", "SINCE", "FOR", "LEASE")
	for _, l := range p.Locks {
		for _, h := range l.Holds {
			lease := rough(h.Remaining)
			if h.Expired {
				lease = "has run out"
			}
			table.Add(render.Row(l.Name, h.Holder, strconv.FormatInt(h.Token, 10), strconv.Itoa(h.Permits), t.at(h.Since), rough(h.For), lease)...)
		}
		for i, q := range l.Queue {
			table.Add(render.Row(l.Name, q.Holder, "", strconv.Itoa(q.Permits), t.at(q.Since), rough(q.Waits), fmt.Sprintf("waits, position %d", i+1))...)
		}
	}
	t.table(table)
	t.line("%d of %d locks, %d shown%s", p.Matching, p.Total, len(p.Locks), more(p.Next))
	return t.String()
}

// PlainText implements [Page].
func (p AuditPage) PlainText() string {
	t := p.text("audit", p.Query.Zone)
	t.table(render.Audit(t.View, p.acts))
	t.line("acts: %d%s; the log takes %s of %s", len(p.Entries), more(p.Next), render.Bytes(int(p.Bytes)), render.Bytes(int(p.Budget)))
	return t.String()
}

// PlainText implements [Page].
func (p LoadPage) PlainText() string {
	t := p.text("load", p.Query.Zone)
	t.line("%d ticks of %d jobs, of which %d were measured, from %s to %s", p.Ticks, p.Jobs, p.Measured, t.at(p.From), t.at(p.To))
	if p.Cut > 0 {
		t.line("%d jobs are left out: there are too many ticks; choose fewer jobs or a shorter time", p.Cut)
	}
	if p.Capacity > 0 {
		t.line("the live replicas run a weight of %d at a time", p.Capacity)
	}
	most := 1
	for _, x := range p.Points {
		most = max(most, x.Runs)
	}
	t.line("")
	table := render.NewTable("FROM", "TICKS", "RUNS", "HIGH", "WEIGHT", "")
	for _, x := range p.Points {
		if x.Starts == 0 && x.Runs == 0 {
			continue
		}
		const width = 40
		table.Add(render.Row(t.at(x.At), strconv.Itoa(x.Starts), strconv.Itoa(x.Runs), strconv.Itoa(x.High), strconv.Itoa(x.Weight),
			strings.Repeat("#", (x.Runs*width+most-1)/most))...)
	}
	t.table(table)
	for _, peak := range p.Peaks {
		t.line("")
		t.line("%s: %d ticks, %d runs at a time, weight %d; %d with the suggestions", t.at(peak.At), peak.Starts, peak.Runs, peak.Weight, peak.Flat)
		for _, j := range peak.Jobs {
			t.line("  %s  %s  %s  %s", j.Job, j.Schedule, rough(j.Median), j.Suggestion)
		}
		if peak.More > 0 {
			t.line("  and %d more", peak.More)
		}
	}
	return t.String()
}
