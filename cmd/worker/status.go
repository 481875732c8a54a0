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
		Use:   "status",
		Short: "Print the jobs and the replicas of the fleet",
		Long: "status prints each job with its next and last tick, what became of that, and who runs it now; and each replica that\n" +
			"lives, with what it serves and how wrong its clock is. The jobs are those of the configuration, and those that\n" +
			"replicas serve besides. Times are fleet time, in each job's time zone.",
		Example: `  worker status --config solotick.yaml
  worker status --redis redis://localhost:6379/0 --namespace billing
  worker status --output json | jq '.jobs[] | select(.unserved) | .job'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			a, err := c.ask(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			given := a.jobs()
			s, err := a.fleet.Status(cmd.Context(), given)
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
	head := fmt.Sprintf("namespace %s, fleet time %s, %s\n\n", s.Namespace, s.Now.Format(printed), counted(len(s.Replicas), "replica"))
	if _, err := io.WriteString(c.stdout, head); err != nil {
		return err
	}
	if err := c.printTable(jobsTable(s, given)); err != nil || len(s.Replicas) == 0 {
		return err
	}
	if _, err := io.WriteString(c.stdout, "\n"); err != nil {
		return err
	}
	return c.printTable(replicasTable(s.Replicas))
}

func jobsTable(s fleet.Status, given []*jobs.Job) *table {
	t := newTable("JOB", "NEXT", "LAST", "OUTCOME", "REPLICA", "NOW", "NOTE")
	for i, j := range s.Jobs {
		zone := time.UTC
		if i < len(given) {
			zone = given[i].Schedule().Location()
		}
		row := []cell{{j.Name, plain}, {local(j.Next, zone), plain}, {}, {}, {}, {doing(j, s.Now, zone), cyan}, {notes(j, zone), yellow}}
		if j.Spec.Leader {
			row[1].text = "leader task"
		}
		if j.Last != nil {
			row[2].text, row[3], row[4].text = local(j.Last.Scheduled, zone), verdict(*j.Last), j.Last.Replica
		}
		t.add(row...)
	}
	return t
}

// doing says what is open of a job.
func doing(j fleet.JobStatus, now time.Time, zone *time.Location) string {
	const most = 3
	var parts []string
	for _, e := range j.Open {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(j.Open)-most))
			break
		}
		switch {
		case e.State == fleet.Running && e.Scheduled.IsZero():
			parts = append(parts, "on "+e.Replica)
		case e.State == fleet.Running:
			parts = append(parts, fmt.Sprintf("%s on %s", tickOfDay(e.Scheduled, now, zone), e.Replica))
		default:
			parts = append(parts, fmt.Sprintf("%s %s", tickOfDay(e.Scheduled, now, zone), e.State))
		}
	}
	return strings.Join(parts, ", ")
}

// notes says what is out of the ordinary about a job.
func notes(j fleet.JobStatus, zone *time.Location) string {
	var parts []string
	if j.Paused != nil {
		text := fmt.Sprintf("paused by %s since %s", j.Paused.By, j.Paused.Since.In(zone).Format(printed))
		if j.Paused.Why != "" {
			text += ", " + j.Paused.Why
		}
		parts = append(parts, text)
	}
	if j.Spec.Paused {
		parts = append(parts, "paused by this configuration")
	}
	if j.Unserved {
		parts = append(parts, "no replica serves it")
	}
	if !j.Overdue.IsZero() {
		parts = append(parts, "overdue since "+local(j.Overdue, zone))
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

func replicasTable(replicas []fleet.Replica) *table {
	t := newTable("REPLICA", "GROUPS", "JOBS", "RUNNING", "TERM", "CLOCK", "VERSION", "STARTED")
	for _, r := range replicas {
		if r.JobCount < 0 {
			t.add(cell{r.ID, plain}, cell{}, cell{}, cell{}, cell{}, cell{}, cell{"of another version", yellow}, cell{})
			continue
		}
		running := fmt.Sprint(r.Running)
		if r.Stopping {
			running += ", stopping"
		}
		t.add(cell{r.ID, plain}, cell{strings.Join(r.Groups, ","), plain}, cell{fmt.Sprint(r.JobCount), plain}, cell{running, plain},
			cell{r.Term.String(), plain}, clockCell(r.ClockOffset), cell{r.Version, plain}, cell{local(r.Started.Truncate(time.Second), time.UTC), plain})
	}
	return t
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
