package render

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

// History returns the table of ticks of a job. What a run failed with stands below it.
func History(v View, list []fleet.Entry) *Table {
	if v.Human {
		return historyForPeople(v, list)
	}
	t := NewTable("SCHEDULED", "STARTED", "ENDED", "TOOK", "REPLICA", "TOKEN", "ATTEMPT", "OUTCOME", "WHY")
	for _, e := range list {
		first, rest, _ := strings.Cut(e.Error, "\n")
		e.Error = first
		row := Row(v.Full(e.Scheduled), v.near(e.Started, e.Scheduled), v.near(e.Ended, e.Scheduled), took(e), e.Replica, "", "", "", why(v, e))
		row[7] = verdict(e)
		if e.Token != 0 {
			row[5].Text, row[6].Text = fmt.Sprint(e.Token), fmt.Sprint(e.Attempts)
		}
		t.Add(row...)
		t.Note(rest, Plain)
	}
	return t
}

// historyForPeople omits tokens and the end of runs: people ask why for them, and programs read
// JSON.
func historyForPeople(v View, list []fleet.Entry) *Table {
	t := NewTable("TICK", "WHEN", "STARTED", "TOOK", "REPLICA", "ATTEMPT", "OUTCOME", "WHY")
	for _, e := range list {
		failure := e.Error
		e.Error = ""
		row := Row(v.Tick(e.Moment()), v.Ago(e.Moment()), v.Tick(e.Started), took(e), e.Replica, "", "", why(v, e))
		row[6] = verdict(e)
		if e.Held() {
			row[3].Text = Duration(v.Now.Sub(e.Started)) + " so far"
		}
		if e.Token != 0 {
			row[5].Text = fmt.Sprint(e.Attempts)
		}
		t.Add(row...)
		t.Note(failure, Plain)
	}
	return t
}

// took formats the duration of a run. It is empty for a tick without a run, and while it runs.
func took(e fleet.Entry) string {
	if e.Started.IsZero() || e.State != wire.StateSettled {
		return ""
	}
	return e.Took().Round(time.Millisecond).String()
}

// why describes an entry beyond its other columns.
func why(v View, e fleet.Entry) string {
	var parts []string
	switch {
	case e.TriggeredBy != "" && e.Key != "":
		parts = append(parts, fmt.Sprintf("triggered by %s, key %s%s", e.TriggeredBy, e.Key, Reason(e.TriggerReason)))
	case e.TriggeredBy != "":
		parts = append(parts, "triggered by "+e.TriggeredBy+Reason(e.TriggerReason))
	case e.Triggered:
		parts = append(parts, "triggered")
	}
	if !e.Again.IsZero() {
		parts = append(parts, "runs "+v.Tick(e.Again)+" again")
	}
	for _, at := range e.RunAgain {
		parts = append(parts, "runs again as "+v.Tick(at))
	}
	if e.Payload > 0 {
		parts = append(parts, fmt.Sprintf("payload of %d bytes", e.Payload))
	}
	for _, h := range e.Holders {
		how := "lease ran out"
		if h.Released {
			how = "gave it up"
		}
		parts = append(parts, fmt.Sprintf("taken over from %s (%s)", h.Replica, how))
	}
	if e.Reason != "" && e.Reason != string(e.Outcome) {
		parts = append(parts, wire.Words(e.Reason))
	}
	if e.CancelledBy != "" {
		parts = append(parts, "cancelled by "+e.CancelledBy+Reason(e.CancelReason))
	}
	if e.IsRange() && e.Count != 1 {
		what := "all undecided ticks"
		if e.Count > 1 {
			what = fmt.Sprintf("%d ticks", e.Count)
		}
		parts = append(parts, fmt.Sprintf("%s after %s", what, v.Tick(e.From)))
	}
	if e.Error != "" {
		parts = append(parts, e.Error)
	}
	return strings.Join(parts, "; ")
}

// Reason is a reason that follows other words; empty for none.
func Reason(text string) string {
	if text == "" {
		return ""
	}
	return " (" + strconv.Quote(text) + ")"
}

// Why explains a tick: what became of it, the policy that decided, and what would have made it run.
func Why(e fleet.Explanation) string {
	return e.String() + after("\npolicy: ", e.Policy) + after("\nremedy: ", e.Remedy)
}

// Outcome says how the tick of a trigger was settled: with the cause where it has not succeeded.
func Outcome(e fleet.Entry) string {
	text := fmt.Sprintf("%s on %s", wire.Words(string(e.Outcome)), e.Replica)
	if !e.Started.IsZero() {
		text += fmt.Sprintf(" after %s, attempt %d", e.Took().Round(time.Millisecond), e.Attempts)
	}
	if e.Outcome == wire.Succeeded {
		return text
	}
	return e.ID + ": " + text + after(": ", why(View{}, fleet.Entry{Reason: e.Reason, Error: e.Error}))
}
