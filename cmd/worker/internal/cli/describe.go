package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) describe() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "describe JOB",
		Short: "Print everything about one job",
		Long: "describe prints one job: its schedule and policies, its definitions on the live replicas, and how they differ. It\n" +
			"prints the replicas that serve the job, its pause, its open and next ticks, and its newest outcomes. It also prints\n" +
			"how often each outcome occurred, and how long runs took. For a job that is not in this configuration it prints what\n" +
			"the fleet knows. Times are as in status.",
		Example: `  worker describe nightly-report --config solotick.yaml
  worker describe nightly-report -n 20
  worker describe nightly-report --output json | jq .counts`,
		Args: jobArgument,
	}
	cmd.Flags().IntVarP(&count, "count", "n", 5, "how many coming `ticks`, and how many outcomes")
	return c.jobCommand(cmd, func([]string) error { return checkCount(count, protocol.MaxHistory) }, func(call jobCall) error {
		d, err := call.ask.Describe(call.ctx, call.name, call.job, count, count)
		if err != nil || call.out == asJSON {
			return call.print(d, "", err)
		}
		return c.printDescription(output.NewView(c.stdout, c.env, d.Now), d, zoneOf(d.JobStatus, call.jobs()))
	})
}

func (c *cli) printDescription(v output.View, d fleet.Description, zone *time.Location) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, namespace %s, fleet time %s\n\n", output.Paint(d.Name, output.Bold, v.Colours), d.Namespace, d.Now.In(zone).Format(output.TimeLayout))
	for _, f := range describedFacts(v, d, zone) {
		lines := f.lines
		for i, line := range lines {
			name := ""
			if i == 0 {
				name = f.name
			}
			text := fmt.Sprintf("%-13s %s", name, output.Line(line))
			if v.Human {
				text = strings.ReplaceAll(output.Wrap(text[14:], v.Width-14), "\n", "\n"+strings.Repeat(" ", 14))
				text = fmt.Sprintf("%-13s %s", name, text)
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
	if len(d.Outcomes) > 0 {
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(c.stdout, b.String()); err != nil || len(d.Outcomes) == 0 {
		return err
	}
	return historyTable(v, d.Outcomes, zone).Print(c.stdout, v)
}

// fact is one entry of a description, on one or more lines.
type fact struct {
	name  string
	lines []string
}

func describedFacts(v output.View, d fleet.Description, zone *time.Location) []fact {
	facts := []fact{{"schedule", scheduleLines(d)}, {"definition", definitions(d)}}
	if d.Given {
		facts = append(facts, fact{"policies", policies(d)})
	}
	serving := strings.Join(d.Replicas, ", ")
	if d.Unserved {
		serving = "no live replica"
	} else if serving == "" {
		serving = "not known: heartbeats have no room for all jobs"
	}
	facts = append(facts, fact{"served by", []string{serving}})
	facts = append(facts, fact{"paused", []string{pausedText(v, d, zone)}})
	facts = append(facts, fact{"open", openLines(v, d, zone)})
	if !d.Spec.Leader {
		facts = append(facts, fact{"next", nextLines(v, d, zone)})
	}
	if !d.Overdue.IsZero() {
		facts = append(facts, fact{"overdue", []string{"since " + v.When(d.Overdue, zone)}})
	}
	facts = append(facts, fact{"last run", []string{lastLine(v, d.LastRun, zone)}}, fact{"last success", []string{lastLine(v, d.LastSuccess, zone)}})
	return append(facts, fact{"outcomes", []string{counts(v, d, zone)}}, fact{"durations", []string{durations(d)}})
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
	switch text := scheduleText(d.JobStatus); {
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
	names := d.Differences()
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
	if len(s.Groups) > 0 {
		run += "; groups " + strings.Join(s.Groups, ", ")
	}
	if s.Leader {
		return []string{run}
	}
	delivery := string(s.Delivery)
	if s.Delivery == "at_least_once" {
		delivery += fmt.Sprintf(", %s at most", output.Count(s.MaxTakeovers, "takeover"))
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

func pausedText(v output.View, d fleet.Description, zone *time.Location) string {
	var parts []string
	if p := d.Paused; p != nil {
		text := fmt.Sprintf("by %s since %s", p.By, v.Tick(p.Since.Truncate(time.Second), zone))
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
func openLines(v output.View, d fleet.Description, zone *time.Location) (lines []string) {
	for _, e := range d.Open {
		text := ""
		if !e.Scheduled.IsZero() {
			text = v.Tick(e.Scheduled, zone) + ": "
		}
		switch e.State {
		case wire.StateRunning:
			text += fmt.Sprintf("runs on %s since %s, attempt %d, token %d", e.Replica, v.Tick(e.Started.Truncate(time.Second), zone), e.Attempts, e.Token)
		case wire.StateRetrying:
			text += fmt.Sprintf("waits on %s for attempt %d, at %s, token %d", e.Replica, e.Attempts+1, v.Tick(e.Failing.Next.Truncate(time.Second), zone), e.Token)
		case wire.StateWaiting:
			text += "waits"
			if e.Triggered {
				text += ", triggered by " + e.Replica
			}
		default:
			text += fmt.Sprintf("awaits takeover, after %s", e.Replica)
		}
		if e.Failing != nil {
			text += "; " + failures(v, e, zone)
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

func nextLines(v output.View, d fleet.Description, zone *time.Location) []string {
	if s := d.ScheduleOf(); s != nil && s.Empty() {
		return []string{"none: it runs when it is triggered"}
	}
	if len(d.Coming) == 0 {
		return []string{"none, or the schedule is not known"}
	}
	lines := make([]string, len(d.Coming))
	for i, t := range d.Coming {
		lines[i] = v.When(t, zone)
	}
	return lines
}

func lastLine(v output.View, e *fleet.Entry, zone *time.Location) string {
	if e == nil {
		return "none is kept"
	}
	return fmt.Sprintf("%s, %s on %s in %s", v.When(e.Moment(), zone), wire.Words(string(e.Outcome)), e.Replica, took(*e))
}

// counts formats how often each outcome occurred.
func counts(v output.View, d fleet.Description, zone *time.Location) string {
	if len(d.Counts) == 0 {
		return "none is kept"
	}
	outcomes := slices.SortedFunc(maps.Keys(d.Counts), func(a, b protocol.Outcome) int {
		if d.Counts[a] != d.Counts[b] {
			return d.Counts[b] - d.Counts[a]
		}
		return strings.Compare(string(a), string(b))
	})
	parts := make([]string, len(outcomes))
	for i, o := range outcomes {
		parts[i] = fmt.Sprintf("%d %s", d.Counts[o], wire.Words(string(o)))
	}
	return fmt.Sprintf("%s, since %s%s", strings.Join(parts, ", "), v.Tick(d.Since.Truncate(time.Second), zone), historyBytes(d))
}

// historyBytes says what the outcomes take in the store.
func historyBytes(d fleet.Description) string {
	if d.HistoryBytes == 0 {
		return ""
	}
	text := "; they take " + bytesFlag(d.HistoryBytes).String()
	if d.HistoryLimit > 0 {
		text += " of at most " + bytesFlag(d.HistoryLimit).String()
	}
	return text
}

func durations(d fleet.Description) string {
	if d.Runs == 0 {
		return "no run is kept"
	}
	return fmt.Sprintf("median %s, longest %s, of %s", d.Median.Round(time.Millisecond), d.Longest.Round(time.Millisecond), output.Count(d.Runs, "run"))
}
