package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) status() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "status [JOB...]",
		Short: "Print the jobs and the replicas of the fleet",
		Long: "status prints each job with its schedule, its next tick, its last run, what became of that and on which replica, its\n" +
			"last success, and what runs now; and each replica, with what it serves, how wrong its clock is and when its last\n" +
			"heartbeat was. The jobs are those that are named, or those of the configuration and those that replicas serve\n" +
			"besides. Times are fleet time: in a terminal as people read them, in a pipe in full, in each job's time zone.",
		Example: `  worker status --config solotick.yaml
  worker status nightly-report sync-orders
  worker status --redis redis://localhost:6379/0 --namespace billing
  worker status --output json | jq '.jobs[] | select(.unserved) | .job'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			a, err := c.ask(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			given := a.jobs()
			for _, name := range names {
				if _, err := a.job(cmd.Context(), name); err != nil {
					return err
				}
			}
			s, err := a.fleet.Status(cmd.Context(), given, names...)
			if err != nil {
				return a.failed("", err)
			}
			if out == asJSON {
				return c.printJSON(s)
			}
			return c.printStatus(s, given)
		},
	}
	whereFlags(cmd)
	out.flag(cmd)
	return cmd
}

func (c *cli) printStatus(s fleet.Status, given []*jobs.Job) error {
	v := c.view(s.Now)
	head := fmt.Sprintf("namespace %s, fleet time %s, %s\n\n", s.Namespace, s.Now.Format(printed), counted(len(s.Replicas), "replica"))
	if _, err := io.WriteString(c.stdout, head); err != nil {
		return err
	}
	if err := c.printTableIn(v, jobsTable(v, s, given)); err != nil || len(s.Replicas)+len(s.Silent) == 0 {
		return err
	}
	if _, err := io.WriteString(c.stdout, "\n"); err != nil {
		return err
	}
	return c.printTableIn(v, replicasTable(v, s))
}

// jobsTable has the notes in a column, or for people under the jobs.
func jobsTable(v view, s fleet.Status, given []*jobs.Job) *table {
	headings := []string{"JOB", "SCHEDULE", "NEXT", "LAST", "OUTCOME", "REPLICA", "SUCCESS", "NOW", "NOTE"}
	if v.human {
		headings = headings[:len(headings)-1]
	}
	t := newTable(headings...)
	for _, j := range s.Jobs {
		zone := zoneOf(j, given)
		row := []cell{
			{j.Name, plain}, {scheduleText(j), plain}, {v.when(j.Next, zone), plain}, {}, {}, {},
			{success(v, j, zone), plain}, {doing(v, j, zone), cyan},
		}
		if j.Spec.Leader {
			row[2].text = ""
		}
		if run := j.LastRun; run != nil {
			row[3].text, row[4], row[5].text = v.ago(run.Moment(), zone), verdict(*run), run.Replica
		}
		if v.human {
			open := row[len(row)-1].text
			if len(j.Open) > 1 {
				row[len(row)-1].text = counted(len(j.Open), "tick")
			}
			t.add(row...)
			if len(j.Open) > 1 {
				t.remark(open, cyan)
			}
			t.remark(notes(v, j, zone), yellow)
		} else {
			t.add(append(row, cell{notes(v, j, zone), yellow})...)
		}
	}
	return t
}

// zoneOf is the time zone of a job, as far as it is known.
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

// scheduleText tells a schedule, with its zone unless that is UTC.
func scheduleText(j fleet.JobStatus) string {
	if j.Spec.Leader {
		return "leader task"
	}
	return strings.TrimSuffix(strings.TrimSpace(j.Schedule+" "+j.Timezone), " UTC")
}

func success(v view, j fleet.JobStatus, zone *time.Location) string {
	if j.LastSuccess == nil {
		return ""
	}
	return v.ago(j.LastSuccess.Moment(), zone)
}

// doing says what is open of a job.
func doing(v view, j fleet.JobStatus, zone *time.Location) string {
	const most = 3
	var parts []string
	for _, e := range j.Open {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(j.Open)-most))
			break
		}
		text := tickOfDay(e.Scheduled, v.now, zone)
		if v.human {
			text = v.stamp(e.Scheduled, zone)
		}
		switch {
		case e.Scheduled.IsZero():
			text = "on " + e.Replica
			if e.State != fleet.Running {
				text = stateWords(e.State)
			}
		case e.State == fleet.Running:
			text += " on " + e.Replica
		default:
			text += " " + stateWords(e.State)
		}
		if e.CancelledBy != "" {
			text += ", cancelled"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// notes says what is out of the ordinary about a job.
func notes(v view, j fleet.JobStatus, zone *time.Location) string {
	var parts []string
	if j.Paused != nil {
		text := fmt.Sprintf("paused by %s since %s", j.Paused.By, v.tick(j.Paused.Since.Truncate(time.Second), zone))
		if j.Paused.Why != "" {
			text += ", " + j.Paused.Why
		}
		parts = append(parts, text)
	}
	if j.Spec.Paused {
		parts = append(parts, "paused by this configuration")
	}
	if j.Last != nil && j.Last.Token == 0 && !j.Last.IsRange() && j.Paused == nil && !j.Spec.Paused {
		text := fmt.Sprintf("%s %s", v.tick(j.Last.Scheduled, zone), fleet.Words(string(j.Last.Outcome)))
		if reason := fleet.Words(j.Last.Reason); reason != "" && reason != string(j.Last.Outcome) {
			text += ": " + reason
		}
		parts = append(parts, text)
	}
	switch {
	case j.LeftOver():
		parts = append(parts, "left over: no replica serves it; to remove it: worker forget "+j.Name)
	case j.Unserved:
		parts = append(parts, "no replica serves it")
	}
	if !j.Overdue.IsZero() {
		parts = append(parts, "overdue since "+v.tick(j.Overdue, zone))
	}
	if j.Ahead > 0 {
		parts = append(parts, fmt.Sprintf("its watermark lies %s in the future, and no tick up to then runs: worker repair %s", span(j.Ahead), j.Name))
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

func replicasTable(v view, s fleet.Status) *table {
	t := newTable("REPLICA", "GROUPS", "JOBS", "RUNNING", "LOAD", "TTL", "CLOCK", "VERSION", "STARTED", "HEARTBEAT")
	for _, r := range slices.Concat(s.Replicas, s.Silent) {
		if r.JobCount < 0 {
			t.add(cell{r.ID, plain}, cell{}, cell{}, cell{}, cell{}, cell{}, cell{}, cell{"of another version", yellow}, cell{}, heartbeatCell(v, r))
			continue
		}
		id, running := cell{r.ID, plain}, fmt.Sprint(r.Running)
		if n := r.Processes(); n > 1 {
			id = cell{fmt.Sprintf("%s (%d processes)", r.ID, n), red}
		}
		switch {
		case r.Gone:
			running = ""
		case r.Stopping:
			running += ", stopping"
		}
		t.add(id, cell{strings.Join(r.Groups, ","), plain}, cell{fmt.Sprint(r.JobCount), plain}, cell{running, plain}, loadCell(r),
			cell{r.Term.String(), plain}, clockCell(r.ClockOffset), cell{r.Version, plain},
			cell{v.ago(r.Started.Truncate(time.Second), time.UTC), plain}, heartbeatCell(v, r))
	}
	return t
}

// loadCell says how much of its capacity a replica uses, and how many jobs wait for some.
func loadCell(r fleet.Replica) cell {
	switch {
	case r.Gone:
		return cell{}
	case r.MaxRuns == 0:
		return cell{fmt.Sprint(r.Used), plain}
	case r.Waiting > 0:
		return cell{fmt.Sprintf("%d of %d, %s waiting", r.Used, r.MaxRuns, counted(r.Waiting, "job")), yellow}
	}
	return cell{fmt.Sprintf("%d of %d", r.Used, r.MaxRuns), plain}
}

// heartbeatCell says when a replica was heard of last, and what that means.
func heartbeatCell(v view, r fleet.Replica) cell {
	text := v.ago(r.Heard.Truncate(time.Second), time.UTC)
	switch {
	case r.Gone:
		return cell{text + ", gone", red}
	case r.Silent(v.now):
		return cell{text + ", silent", yellow}
	}
	return cell{text, plain}
}

// clockCell says how wrong a replica's own clock is.
func clockCell(offset time.Duration) cell {
	s := plain
	if offset.Abs() >= time.Second {
		s = yellow
	}
	switch {
	case offset > 0:
		return cell{offset.String() + " slow", s}
	case offset < 0:
		return cell{(-offset).String() + " fast", s}
	}
	return cell{"0s", s}
}
