package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

var zones sync.Map // *time.Location, by its name

// Zone returns the time zone of that name; UTC when this machine does not know it.
func Zone(name string) *time.Location {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Store(name, zone)
	return zone
}

// Jobs returns the table of jobs, with more columns after their names. Notes are in a column, for
// people below each job.
func Jobs(v View, list []fleet.JobStatus, more ...Column) *Table {
	headings := []string{"JOB", "SCHEDULE", "NEXT", "LAST", "OUTCOME", "REPLICA", "SUCCESS", "NOW", "NOTE"}
	if v.Human {
		headings = headings[:len(headings)-1]
	}
	t := NewTable(headings...)
	for _, j := range list {
		v := v.In(Zone(j.Timezone))
		open, note := doing(v, j), Cell{notes(v, j), Yellow}
		row := append(Row(j.Name, Schedule(j), v.When(j.Next), "", "", "", "", open), note)
		row[7].Style = Cyan
		if j.Spec.Leader {
			row[2].Text = ""
		}
		if run := j.LastRun; run != nil {
			row[3].Text, row[4], row[5].Text = v.Ago(run.Moment()), verdict(*run), run.Replica
		}
		if j.LastSuccess != nil {
			row[6].Text = v.Ago(j.LastSuccess.Moment())
		}
		if !v.Human {
			t.Add(row...)
			continue
		}
		if len(j.Open) > 1 {
			row[7].Text = Count(len(j.Open), "tick")
		}
		t.Add(row[:8]...)
		if len(j.Open) > 1 {
			t.Note(open, Cyan)
		}
		t.Note(note.Text, note.Style)
	}
	t.Insert(1, more)
	return t
}

// Schedule formats the schedule of a job with its time zone, unless that is UTC.
func Schedule(j fleet.JobStatus) string {
	if j.Spec.Leader {
		return "leader task"
	}
	return strings.TrimSuffix(strings.TrimSpace(j.Schedule+" "+j.Timezone), " UTC")
}

// doing describes the open ticks of a job.
func doing(v View, j fleet.JobStatus) string {
	const limit = 3
	var parts []string
	for _, e := range j.Open {
		if len(parts) == limit {
			parts = append(parts, fmt.Sprintf("and %d more", len(j.Open)-limit))
			break
		}
		text := ""
		switch {
		case !e.Scheduled.IsZero() && v.Human:
			text = v.Stamp(e.Scheduled) + " "
		case !e.Scheduled.IsZero():
			text = v.ofDay(e.Scheduled) + " "
		}
		if e.Held() {
			text += "on " + e.Replica
		} else {
			text += stateWords(e.State)
		}
		if e.State == wire.StateRetrying {
			text += ", again at " + v.ofDay(failing(e).Next.Truncate(time.Second))
		}
		if e.CancelledBy != "" {
			text += ", cancelled"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// failing says how the attempts of an open tick have failed: nothing where a worker does not say.
func failing(e fleet.Entry) fleet.FailingRun { return *cmp.Or(e.Failing, new(fleet.FailingRun)) }

// failures says how the last attempts of an open tick have ended.
func failures(v View, f fleet.FailingRun) string {
	since := v.Tick(f.Since.Truncate(time.Second))
	if f.Failures == 1 {
		return fmt.Sprintf("attempt %d failed at %s: %s", f.Attempt, since, f.Error)
	}
	return fmt.Sprintf("%d attempts failed since %s: %s", f.Failures, since, f.Error)
}

// Verdict returns the outcome of an entry, or the state of an open tick.
func verdict(e fleet.Entry) Cell {
	if e.State != wire.StateSettled {
		return Cell{stateWords(e.State), Cyan}
	}
	var style Style
	switch e.Outcome {
	case wire.Succeeded:
		style = Green
	case wire.Failed, wire.Lost:
		style = Red
	case "released":
		style = Plain
	default:
		style = Yellow
	}
	return Cell{wire.Words(string(e.Outcome)), style}
}

// stateWords describes the state of an open tick.
func stateWords(s string) string {
	if s == wire.StateFree {
		return "awaits takeover"
	}
	return s
}

// notes describes the unusual properties of a job.
func notes(v View, j fleet.JobStatus) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if j.Paused != nil {
		add("paused by %s since %s%s", j.Paused.By, v.Tick(j.Paused.Since.Truncate(time.Second)), after(", ", j.Paused.Reason))
	}
	if j.Spec.Paused {
		add("paused by this configuration")
	}
	if j.Last != nil && j.Last.Token == 0 && !j.Last.IsRange() && j.Paused == nil && !j.Spec.Paused {
		reason := wire.Words(j.Last.Reason)
		if reason == string(j.Last.Outcome) {
			reason = ""
		}
		add("%s %s%s", v.Tick(j.Last.Scheduled), wire.Words(string(j.Last.Outcome)), after(": ", reason))
	}
	if i := slices.IndexFunc(j.Open, func(e fleet.Entry) bool { return e.Failing != nil }); i >= 0 {
		add("%s", failures(v, *j.Open[i].Failing))
	}
	switch {
	case j.LeftOver():
		add("left over: no replica serves it; to remove it: worker forget %s", j.Name)
	case j.Unserved:
		add("no replica serves it")
	}
	if !j.Overdue.IsZero() {
		add("overdue since %s", v.Tick(j.Overdue))
	}
	if j.Ahead > 0 {
		add("its watermark %s", ahead(j))
	}
	if !j.Given {
		add("not in this configuration")
	}
	if len(j.Revisions) > 0 {
		var views []string
		for _, r := range slices.Sorted(maps.Keys(j.Revisions)) {
			views = append(views, fmt.Sprintf("%s on %s", r, strings.Join(j.Revisions[r], " ")))
		}
		add("replicas define it differently: %s", strings.Join(views, ", "))
	}
	return strings.Join(parts, "; ")
}

func ahead(j fleet.JobStatus) string {
	return fmt.Sprintf("lies %s in the future, and no tick runs until then: worker repair %s", Duration(j.Ahead), j.Name)
}

// after returns a text after what leads to it; "" for an empty text.
func after(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}
