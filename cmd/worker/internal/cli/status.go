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
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) status() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "status [JOB...]",
		Short: "Print the jobs and the replicas of the fleet",
		Long: "status prints each job with its schedule, its next tick, its last run with outcome and replica, its last success,\n" +
			"and its open ticks. It prints each replica with the jobs that it serves, the offset of its clock and its last\n" +
			"heartbeat. It prints the named jobs, or those of the configuration and all others that replicas serve. Times are\n" +
			"fleet time in each job's time zone: short in a terminal, in full in a pipe.",
		Example: `  worker status --config solotick.yaml
  worker status nightly-report sync-orders
  worker status --redis redis://localhost:6379/0 --namespace billing
  worker status --output json | jq '.jobs[] | select(.unserved) | .job'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			a, err := c.connect(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			given := a.jobs()
			for _, name := range names {
				if _, err := a.findJob(cmd.Context(), name); err != nil {
					return err
				}
			}
			s, err := a.ask.Status(cmd.Context(), given, names...)
			if err != nil {
				return a.explain("", err)
			}
			if out == asJSON {
				return writeJSON(c.stdout, s)
			}
			return c.printStatus(s, given)
		},
	}
	askFlags(cmd)
	out.flag(cmd)
	return cmd
}

func (c *cli) printStatus(s fleet.Status, given []*jobs.Job) error {
	v := output.NewView(c.stdout, c.env, s.Now)
	head := fmt.Sprintf("namespace %s, fleet time %s, %s\n\n", s.Namespace, s.Now.Format(output.TimeLayout), output.Count(len(s.Replicas), "replica"))
	if _, err := io.WriteString(c.stdout, head); err != nil {
		return err
	}
	if err := jobsTable(v, s, given).Print(c.stdout, v); err != nil || len(s.Replicas)+len(s.Silent) == 0 {
		return err
	}
	if _, err := io.WriteString(c.stdout, "\n"); err != nil {
		return err
	}
	return replicasTable(v, s).Print(c.stdout, v)
}

// jobsTable returns the table of jobs. Notes are in a column, for people below each job.
func jobsTable(v output.View, s fleet.Status, given []*jobs.Job) *output.Table {
	headings := []string{"JOB", "SCHEDULE", "NEXT", "LAST", "OUTCOME", "REPLICA", "SUCCESS", "NOW", "NOTE"}
	if v.Human {
		headings = headings[:len(headings)-1]
	}
	t := output.NewTable(headings...)
	for _, j := range s.Jobs {
		zone := zoneOf(j, given)
		row := output.Row(j.Name, scheduleText(j), v.When(j.Next, zone), "", "", "", success(v, j, zone), doing(v, j, zone))
		row[7].Style = output.Cyan
		if j.Spec.Leader {
			row[2].Text = ""
		}
		if run := j.LastRun; run != nil {
			row[3].Text, row[4], row[5].Text = v.Ago(run.Moment(), zone), verdict(*run), run.Replica
		}
		if v.Human {
			open := row[len(row)-1].Text
			if len(j.Open) > 1 {
				row[len(row)-1].Text = output.Count(len(j.Open), "tick")
			}
			t.Add(row...)
			if len(j.Open) > 1 {
				t.Note(open, output.Cyan)
			}
			t.Note(notes(v, j, zone), output.Yellow)
		} else {
			t.Add(append(row, output.Cell{Text: notes(v, j, zone), Style: output.Yellow})...)
		}
	}
	return t
}

// zoneOf returns the time zone of a job; UTC when it is not known.
func zoneOf(j fleet.JobStatus, given []*jobs.Job) *time.Location {
	for _, g := range given {
		if g.Name() == j.Name {
			return zone(g)
		}
	}
	if zone, err := time.LoadLocation(j.Timezone); err == nil {
		return zone
	}
	return time.UTC
}

// scheduleText formats a schedule with its time zone, unless that is UTC.
func scheduleText(j fleet.JobStatus) string {
	if j.Spec.Leader {
		return "leader task"
	}
	return strings.TrimSuffix(strings.TrimSpace(j.Schedule+" "+j.Timezone), " UTC")
}

func success(v output.View, j fleet.JobStatus, zone *time.Location) string {
	if j.LastSuccess == nil {
		return ""
	}
	return v.Ago(j.LastSuccess.Moment(), zone)
}

// doing describes the open ticks of a job.
func doing(v output.View, j fleet.JobStatus, zone *time.Location) string {
	const limit = 3
	var parts []string
	for _, e := range j.Open {
		if len(parts) == limit {
			parts = append(parts, fmt.Sprintf("and %d more", len(j.Open)-limit))
			break
		}
		text := output.TickOfDay(e.Scheduled, v.Now, zone)
		if v.Human {
			text = v.Stamp(e.Scheduled, zone)
		}
		switch {
		case e.Scheduled.IsZero():
			text = "on " + e.Replica
			if !e.Held() {
				text = stateWords(e.State)
			}
		case e.Held():
			text += " on " + e.Replica
		default:
			text += " " + stateWords(e.State)
		}
		if e.State == wire.StateRetrying {
			text += ", again at " + output.TickOfDay(e.Failing.Next.Truncate(time.Second), v.Now, zone)
		}
		if e.CancelledBy != "" {
			text += ", cancelled"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// notes describes the unusual properties of a job.
func notes(v output.View, j fleet.JobStatus, zone *time.Location) string {
	var parts []string
	if j.Paused != nil {
		text := fmt.Sprintf("paused by %s since %s", j.Paused.By, v.Tick(j.Paused.Since.Truncate(time.Second), zone))
		if j.Paused.Reason != "" {
			text += ", " + j.Paused.Reason
		}
		parts = append(parts, text)
	}
	if j.Spec.Paused {
		parts = append(parts, "paused by this configuration")
	}
	if j.Last != nil && j.Last.Token == 0 && !j.Last.IsRange() && j.Paused == nil && !j.Spec.Paused {
		text := fmt.Sprintf("%s %s", v.Tick(j.Last.Scheduled, zone), wire.Words(string(j.Last.Outcome)))
		if reason := wire.Words(j.Last.Reason); reason != "" && reason != string(j.Last.Outcome) {
			text += ": " + reason
		}
		parts = append(parts, text)
	}
	for _, e := range j.Open {
		if e.Failing != nil {
			parts = append(parts, failures(v, e, zone))
			break
		}
	}
	switch {
	case j.LeftOver():
		parts = append(parts, "left over: no replica serves it; to remove it: worker forget "+j.Name)
	case j.Unserved:
		parts = append(parts, "no replica serves it")
	}
	if !j.Overdue.IsZero() {
		parts = append(parts, "overdue since "+v.Tick(j.Overdue, zone))
	}
	if j.Ahead > 0 {
		parts = append(parts, fmt.Sprintf("its watermark lies %s in the future, and no tick runs until then: worker repair %s", output.Duration(j.Ahead), j.Name))
	}
	if !j.Given {
		parts = append(parts, "not in this configuration")
	}
	if len(j.Revisions) > 0 {
		var views []string
		for _, r := range slices.Sorted(maps.Keys(j.Revisions)) {
			views = append(views, fmt.Sprintf("%s on %s", r, strings.Join(j.Revisions[r], " ")))
		}
		parts = append(parts, "replicas define it differently: "+strings.Join(views, ", "))
	}
	return strings.Join(parts, "; ")
}

func replicasTable(v output.View, s fleet.Status) *output.Table {
	t := output.NewTable("REPLICA", "GROUPS", "JOBS", "RUNNING", "LOAD", "TTL", "CLOCK", "VERSION", "STARTED", "HEARTBEAT")
	for _, r := range slices.Concat(s.Replicas, s.Silent) {
		if r.JobCount < 0 {
			row := output.Row(r.ID, "", "", "", "", "", "", "of another version", "")
			row[7].Style = output.Yellow
			t.Add(append(row, heartbeatCell(v, r))...)
			continue
		}
		id, running := output.Cell{Text: r.ID}, fmt.Sprint(r.Running)
		if n := r.Processes(); n > 1 {
			id = output.Cell{Text: fmt.Sprintf("%s (%d processes)", r.ID, n), Style: output.Red}
		}
		switch {
		case r.Gone:
			running = ""
		case r.Stopping:
			running += ", stopping"
		}
		t.Add(id, output.Cell{Text: strings.Join(r.Groups, ",")}, output.Cell{Text: fmt.Sprint(r.JobCount)}, output.Cell{Text: running}, loadCell(r),
			output.Cell{Text: r.TTL.String()}, clockCell(r.ClockOffset), output.Cell{Text: r.Version},
			output.Cell{Text: v.Ago(r.Started.Truncate(time.Second), time.UTC)}, heartbeatCell(v, r))
	}
	return t
}

// loadCell shows the used capacity of a replica, and how many jobs wait for capacity.
func loadCell(r fleet.Replica) output.Cell {
	switch {
	case r.Gone:
		return output.Cell{}
	case r.MaxRuns == 0:
		return output.Cell{Text: fmt.Sprint(r.Used)}
	case r.Waiting > 0:
		return output.Cell{Text: fmt.Sprintf("%d of %d, %s waiting", r.Used, r.MaxRuns, output.Count(r.Waiting, "job")), Style: output.Yellow}
	}
	return output.Cell{Text: fmt.Sprintf("%d of %d", r.Used, r.MaxRuns)}
}

// heartbeatCell shows the last heartbeat of a replica, and whether it is late.
func heartbeatCell(v output.View, r fleet.Replica) output.Cell {
	text := v.Ago(r.LastHeartbeat.Truncate(time.Second), time.UTC)
	switch {
	case r.Gone && r.Stopping:
		return output.Cell{Text: text + ", stopped"}
	case r.Gone:
		return output.Cell{Text: text + ", gone", Style: output.Red}
	case r.Silent(v.Now):
		return output.Cell{Text: text + ", silent", Style: output.Yellow}
	}
	return output.Cell{Text: text}
}

// clockCell shows how wrong a replica's own clock is.
func clockCell(offset time.Duration) output.Cell {
	c := output.Cell{Text: output.ClockOffset(offset)}
	if offset.Abs() >= time.Second {
		c.Style = output.Yellow
	}
	return c
}
