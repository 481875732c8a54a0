package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WriteText implements [Page].
func (p FleetPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, "fleet")
	rows := [][]string{{"REPLICA", "GROUPS", "VERSION", "JOBS", "RUNNING", "LOAD", "TTL", "CLOCK", "STARTED", "HEARTBEAT", "LEADS", "NOTE"}}
	for _, r := range slices.Concat(p.Replicas, p.Gone) {
		load := strconv.Itoa(r.Used)
		if r.MaxRuns > 0 {
			load += " of " + strconv.Itoa(r.MaxRuns)
		}
		rows = append(rows, []string{
			r.ID, strings.Join(r.Groups, ","), r.Version, strconv.Itoa(r.Jobs), strconv.Itoa(r.Running), load, r.TTL.Duration().String(),
			r.ClockOffset.Duration().String(), t.at(r.Started, ""), t.at(r.Heartbeat, ""), strings.Join(r.Leads, ","), r.note(),
		})
	}
	t.table(rows)
	t.line("")
	t.fact("store", strings.TrimSpace(p.Store.Kind+" "+p.Store.Server+" "+p.Store.Address))
	if p.Store.Latency > 0 {
		t.fact("latency", (time.Duration(p.Store.Latency) * time.Microsecond).String())
	}
	t.fact("clock", fmt.Sprintf("%s from this machine's", p.Store.ClockOffset.Duration()))
	t.fact("remembers", "since "+t.at(p.Since, ""))
	for _, f := range p.Store.Findings {
		t.fact(f.Severity, strings.TrimSpace(strings.TrimSpace(f.Check+" "+f.Server)+": "+f.Text+" "+f.Hint))
	}
	t.receivers(p.Notifications)
	t.events(p.Events, "")
	return t.err
}

// receivers writes who is notified.
func (t *textWriter) receivers(n *Notifications) {
	if n == nil || len(n.Receivers) == 0 {
		return
	}
	t.fact("notifier", fmt.Sprintf("%s, at %s", n.By, t.at(n.At, "")))
	for _, r := range n.Receivers {
		text := fmt.Sprintf("%s (%s)", r.Name, r.Kind)
		if r.Last != nil {
			text += fmt.Sprintf(", took %s %s at %s", r.Last.Job, r.Last.Condition, t.at(r.Last.At, ""))
		}
		if r.Waiting > 0 {
			text += fmt.Sprintf(", has not taken those of %d jobs since %s: %s", r.Waiting, t.at(r.WaitingSince, ""), r.Error)
		}
		t.fact("receiver", text)
	}
}

func (r ReplicaRow) note() string {
	var parts []string
	add := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	add(r.Gone, "gone")
	add(r.Silent, "silent")
	add(r.Stopping, "stopping")
	add(r.Processes > 1, fmt.Sprintf("%d processes", r.Processes))
	add(r.Waiting > 0, fmt.Sprintf("%d jobs wait", r.Waiting))
	add(r.Clock != "" && r.Clock != "trusted", "store's clock "+r.Clock)
	return strings.Join(parts, ", ")
}

// WriteText implements [Page].
func (p LocksPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, "locks")
	rows := [][]string{{"LOCK", "WHO", "TOKEN", "PERMITS", "SINCE", "FOR", "LEASE"}}
	for _, l := range p.Locks {
		for _, h := range l.Holds {
			lease := rough(h.Remaining)
			if h.Expired {
				lease = "has run out"
			}
			rows = append(rows, []string{l.Name, h.Holder, strconv.FormatInt(h.Token, 10), strconv.Itoa(h.Permits), t.at(h.Since, ""), rough(h.For), lease})
		}
		for i, q := range l.Queue {
			rows = append(rows, []string{l.Name, q.Holder, "", strconv.Itoa(q.Permits), t.at(q.Since, ""), rough(q.Waits), fmt.Sprintf("waits, position %d", i+1)})
		}
	}
	t.table(rows)
	t.linef("%d of %d locks, %d shown%s", p.Matching, p.Total, len(p.Locks), more(p.Next))
	return t.err
}

// WriteText implements [Page].
func (p AuditPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, "audit")
	rows := [][]string{{"AT", "BY", "ACTION", "ON", "TICK", "REASON", "VIA"}}
	for _, e := range p.Entries {
		on := e.Job
		if e.Lock != "" {
			on = fmt.Sprintf("lock %s, token %d", e.Lock, e.Token)
		}
		rows = append(rows, []string{t.at(e.At, ""), e.By, e.Action, on, t.at(e.Tick, ""), e.Reason, e.Via})
	}
	t.table(rows)
	t.linef("acts: %d%s; the log takes %d of %d bytes", len(p.Entries), more(p.Next), p.Bytes, p.Budget)
	return t.err
}

// WriteText implements [Page].
func (p LoadPage) WriteText(w io.Writer) error {
	t := textWriter{w: w, zone: p.Query.Zone}
	t.head(p.Head, "load")
	t.linef("%d ticks of %d jobs, of which %d were measured, from %s to %s", p.Ticks, p.Jobs, p.Measured, t.at(p.From, ""), t.at(p.To, ""))
	if p.Cut > 0 {
		t.linef("%d jobs are left out: there are too many ticks; choose fewer jobs or a shorter time", p.Cut)
	}
	if p.Capacity > 0 {
		t.linef("the live replicas run a weight of %d at a time", p.Capacity)
	}
	most := 1
	for _, x := range p.Points {
		most = max(most, x.Runs)
	}
	t.line("")
	rows := [][]string{{"FROM", "TICKS", "RUNS", "HIGH", "WEIGHT", ""}}
	for _, x := range p.Points {
		if x.Starts == 0 && x.Runs == 0 {
			continue
		}
		const width = 40
		rows = append(rows, []string{t.at(x.At, ""), strconv.Itoa(x.Starts), strconv.Itoa(x.Runs), strconv.Itoa(x.High), strconv.Itoa(x.Weight), strings.Repeat("#", (x.Runs*width+most-1)/most)})
	}
	t.table(rows)
	for _, peak := range p.Peaks {
		t.line("")
		t.linef("%s: %d ticks, %d runs at a time, weight %d; %d with the suggestions", t.at(peak.At, ""), peak.Starts, peak.Runs, peak.Weight, peak.Flat)
		for _, j := range peak.Jobs {
			t.linef("  %s  %s  %s  %s", j.Job, j.Schedule, rough(j.Median), j.Suggestion)
		}
		if peak.More > 0 {
			t.linef("  and %d more", peak.More)
		}
	}
	return t.err
}
