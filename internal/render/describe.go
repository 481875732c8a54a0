package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Head is the first line about a fleet, or about a part of it.
func Head(v View, what, namespace string) string {
	return fmt.Sprintf("%s, namespace %s, fleet time %s\n", Paint(what, Bold, v.Colours), namespace, v.Now.In(v.Zone).Format(TimeLayout))
}

// Job describes one job.
func Job(v View, d fleet.Description) Facts {
	v = v.In(Zone(d.Timezone))
	var f Facts
	f.Add("schedule", scheduleLines(d)...)
	f.Add("definition", definitions(d)...)
	if d.Given {
		f.Add("policies", policies(d)...)
	}
	serving := strings.Join(d.Replicas, ", ")
	if d.Unserved {
		serving = "no live replica"
	}
	f.Add("served by", cmp.Or(serving, "not known: heartbeats have no room for all jobs"))
	f.Add("paused", pausedText(v, d))
	f.Add("open", openLines(v, d)...)
	if !d.Spec.Leader {
		f.Add("next", nextLines(v, d)...)
	}
	if !d.Overdue.IsZero() {
		f.Add("overdue", "since "+v.When(d.Overdue))
	}
	if d.Ahead > 0 {
		f.Add("watermark", ahead(d.JobStatus))
	}
	f.Add("last run", lastLine(v, d.LastRun))
	f.Add("last success", lastLine(v, d.LastSuccess))
	f.Add("outcomes", counts(v, d))
	f.Add("durations", durations(d))
	return f
}

// scheduleLines shows the schedule of the job, and the same in words.
func scheduleLines(d fleet.Description) []string {
	lines := []string{scheduleOf(d)}
	if s := d.ScheduleOf(); s != nil && s.Words(nil) != s.String() {
		lines = append(lines, s.Words(nil))
	}
	return lines
}

func scheduleOf(d fleet.Description) string {
	switch text := Schedule(d.JobStatus); {
	case d.Spec.Leader:
		return "leader task: one replica runs it all the time"
	case text == "":
		return "not known: the job is neither in this configuration nor in its record"
	case !strings.HasSuffix(text, d.Timezone):
		return text + " " + d.Timezone
	default:
		return text
	}
}

// definitions lists the replicas that have each revision of the job.
func definitions(d fleet.Description) (lines []string) {
	for _, def := range d.Definitions {
		text := fmt.Sprintf("revision %s on %s", def.Revision, strings.Join(def.Replicas, ", "))
		switch {
		case def.Given:
			text += ": as in this configuration"
		case d.Given:
			text += ": differs from this configuration"
		}
		lines = append(lines, text)
		if text := fields(def.Fields); text != "" {
			lines = append(lines, text)
		}
	}
	switch {
	case len(d.Definitions) == 0:
		lines = append(lines, "no live replica has it")
	case len(d.Definitions) > 1:
		lines = append(lines, differences(d)...)
	}
	if !d.Given {
		lines = append(lines, "it is not in this configuration")
	}
	return lines
}

// fields formats a definition on one line.
func fields(of map[string]string) string {
	parts := make([]string, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, name+" "+of[name])
	}
	return strings.Join(parts, "; ")
}

// differences lists the fields in which the replicas differ.
func differences(d fleet.Description) []string {
	lines := []string{"the replicas differ: give them all the same configuration"}
	names := d.Differences
	for _, name := range names {
		parts := make([]string, 0, len(d.Definitions))
		for _, def := range d.Definitions {
			value, ok := def.Fields[name]
			if !ok {
				value = "none"
			}
			parts = append(parts, fmt.Sprintf("%s (%s)", value, def.Revision))
		}
		lines = append(lines, fmt.Sprintf("differs: %s: %s", name, strings.Join(parts, ", ")))
	}
	known := !slices.ContainsFunc(d.Definitions, func(def fleet.Definition) bool { return def.Fields == nil })
	if known && len(names) == 0 {
		lines = append(lines, "they differ in a value that is not shown, such as that of a variable or a header")
	}
	return lines
}

// policies formats the policies of the job in this configuration.
func policies(d fleet.Description) []string {
	s := d.Spec
	run := "timeout none"
	if s.Timeout > 0 {
		run = "timeout " + s.Timeout.String()
	}
	if s.Leader {
		run = fmt.Sprintf("restarted after %s to %s", s.Retry.Backoff, s.Retry.MaxBackoff)
	} else if s.Retry.MaxAttempts > 1 {
		run += fmt.Sprintf("; %d attempts, %s to %s apart", s.Retry.MaxAttempts, s.Retry.Backoff, s.Retry.MaxBackoff)
	} else {
		run += "; 1 attempt"
	}
	if s.Weight > 1 {
		run += fmt.Sprintf("; weight %d", s.Weight)
	}
	if s.MaxConcurrent > 0 {
		run += fmt.Sprintf("; at most %d at a time over the fleet", s.MaxConcurrent)
	}
	if len(s.Groups) > 0 {
		run += "; groups " + strings.Join(s.Groups, ", ")
	}
	if s.Leader {
		return []string{run}
	}
	delivery := string(s.Delivery)
	if s.Delivery == "at_least_once" {
		delivery += fmt.Sprintf(", %s at most", Count(s.MaxTakeovers, "takeover"))
	}
	late := fmt.Sprintf("misfire %s after %s; caught up for %s, at most %d; jitter %s", s.Misfire, s.MisfireGrace, s.CatchUpWindow, s.MaxCatchUp, s.Jitter)
	triggers := "triggers without a rate"
	if !s.Rate.IsZero() {
		triggers = fmt.Sprintf("triggers %s, burst %d", s.Rate, s.Burst)
	}
	if s.History != jobs.Defaults().History {
		triggers += fmt.Sprintf("; history of %d", s.History)
	}
	return []string{fmt.Sprintf("overlap %s; %s; %s", s.Overlap, delivery, run), late, triggers}
}

func pausedText(v View, d fleet.Description) string {
	var parts []string
	if p := d.Paused; p != nil {
		text := fmt.Sprintf("by %s since %s", p.By, v.Tick(p.Since.Truncate(time.Second)))
		if p.Reason != "" {
			text += ": " + p.Reason
		}
		parts = append(parts, text)
	}
	if d.Spec.Paused {
		parts = append(parts, "by this configuration")
	}
	if len(parts) == 0 {
		return "no"
	}
	return strings.Join(parts, "; ")
}

// openLines describes the open ticks.
func openLines(v View, d fleet.Description) (lines []string) {
	for _, e := range d.Open {
		text := ""
		if !e.Scheduled.IsZero() {
			text = v.Tick(e.Scheduled) + ": "
		}
		switch e.State {
		case wire.StateRunning:
			text += fmt.Sprintf("runs on %s since %s, attempt %d, token %d", e.Replica, v.Tick(e.Started.Truncate(time.Second)), e.Attempts, e.Token)
		case wire.StateRetrying:
			text += fmt.Sprintf("waits on %s for attempt %d, at %s, token %d", e.Replica, e.Attempts+1, v.Tick(failing(e).Next.Truncate(time.Second)), e.Token)
		case wire.StateWaiting:
			text += "waits"
			if e.Triggered {
				text += ", triggered by " + e.Replica
			}
		default:
			text += fmt.Sprintf("awaits takeover, after %s", e.Replica)
		}
		if e.Failing != nil {
			text += "; " + failures(v, *e.Failing)
		}
		if c := e.Checkpoint; c != nil {
			text += ", " + progress(v, *c)
		}
		if e.CancelledBy != "" {
			text += ", cancelled by " + e.CancelledBy
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return []string{"no tick runs or waits"}
	}
	return lines
}

// progress says how far a run has come.
func progress(v View, c fleet.Checkpoint) string {
	text := fmt.Sprintf("%d %% done", c.Percent)
	if c.Percent == 0 && c.Text == "" {
		text = fmt.Sprintf("a checkpoint of %d bytes", c.Position)
	}
	return text + after(": ", c.Text) + " at " + v.Tick(c.At.Truncate(time.Second))
}

func nextLines(v View, d fleet.Description) []string {
	if s := d.ScheduleOf(); s != nil && s.Stored() {
		return []string{"none of its own: it runs by its schedules in the store"}
	} else if s != nil && s.Empty() {
		return []string{"none: it runs when it is triggered"}
	}
	if len(d.Coming) == 0 {
		return []string{"none, or the schedule is not known"}
	}
	lines := make([]string, len(d.Coming))
	for i, t := range d.Coming {
		lines[i] = v.When(t)
	}
	return lines
}

func lastLine(v View, e *fleet.Entry) string {
	if e == nil {
		return "none is kept"
	}
	return fmt.Sprintf("%s, %s on %s in %s", v.When(e.Moment()), wire.Words(string(e.Outcome)), e.Replica, took(*e))
}

// counts formats how often each outcome occurred.
func counts(v View, d fleet.Description) string {
	if len(d.Counts) == 0 {
		return "none is kept"
	}
	outcomes := slices.SortedFunc(maps.Keys(d.Counts), func(a, b lease.Outcome) int {
		if d.Counts[a] != d.Counts[b] {
			return d.Counts[b] - d.Counts[a]
		}
		return strings.Compare(string(a), string(b))
	})
	parts := make([]string, len(outcomes))
	for i, o := range outcomes {
		parts[i] = fmt.Sprintf("%d %s", d.Counts[o], wire.Words(string(o)))
	}
	return fmt.Sprintf("%s, since %s%s", strings.Join(parts, ", "), v.Tick(d.Since.Truncate(time.Second)), historyBytes(d))
}

// historyBytes says what the outcomes take in the store.
func historyBytes(d fleet.Description) string {
	if d.HistoryBytes == 0 {
		return ""
	}
	text := "; they take " + Bytes(d.HistoryBytes)
	if d.HistoryLimit > 0 {
		text += " of at most " + Bytes(d.HistoryLimit)
	}
	return text
}

func durations(d fleet.Description) string {
	if d.Runs == 0 {
		return "no run is kept"
	}
	return fmt.Sprintf("median %s, longest %s, of %s", d.Median.Round(time.Millisecond), d.Longest.Round(time.Millisecond), Count(d.Runs, "run"))
}
