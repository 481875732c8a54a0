package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

// pauseResult is the JSON output of pause and resume.
type pauseResult struct {
	Job     string       `json:"job"`
	Paused  bool         `json:"paused"`
	Changed bool         `json:"changed"` // false if it was so before
	Pause   *fleet.Pause `json:"pause"`   // that is in force or has ended; else null
}

func (c *cli) pause() *cobra.Command {
	var act fleet.Act
	var out format
	cmd := &cobra.Command{
		Use:   "pause JOB",
		Short: "Make the whole fleet skip a job's ticks, until resume",
		Long: "pause makes every replica skip the ticks of a job, now and after restarts, until somebody resumes it. A run in progress\n" +
			"continues: cancel ends it. trigger still works. A leader task has no ticks: its run ends at once, and it starts again\n" +
			"when it is resumed. Pausing a paused job changes nothing.",
		Example: `  worker pause nightly-report --reason "the database moves" --config solotick.yaml
  worker pause nightly-report --by ops1 --output json`,
		Args: jobArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			who, fault := c.act(act)
			return c.changePause(cmd, args[0], out, fault, func(a *client, job *jobs.Job) (pauseResult, string, error) {
				p, err := a.ask.Pause(cmd.Context(), args[0], who)
				text := fmt.Sprintf("%s is paused: %s", args[0], pauseText(p, job))
				if p.Before {
					text = fmt.Sprintf("%s was already paused: %s", args[0], pauseText(p, job))
				}
				if job != nil && job.Spec().Leader {
					text += "; its run ends, and it starts again when it is resumed"
				}
				return pauseResult{Job: args[0], Paused: true, Changed: !p.Before, Pause: &p}, text, err
			})
		},
	}
	askFlags(cmd)
	actFlags(cmd, &act)
	out.flag(cmd)
	return cmd
}

func (c *cli) resume() *cobra.Command {
	var act fleet.Act
	var out format
	cmd := &cobra.Command{
		Use:   "resume JOB",
		Short: "End the pause of a job, for the whole fleet",
		Long: "resume ends a pause. Ticks that were due during the pause stay skipped. A job with paused: true in the configuration\n" +
			"stays paused: change that key, and the replicas reload it.",
		Example: `  worker resume nightly-report --config solotick.yaml`,
		Args:    jobArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			who, fault := c.act(act)
			return c.changePause(cmd, args[0], out, fault, func(a *client, job *jobs.Job) (pauseResult, string, error) {
				p, err := a.ask.Resume(cmd.Context(), args[0], who)
				if job != nil && job.Spec().Paused {
					fmt.Fprintf(c.stderr, "warning: this configuration still pauses %s\n", args[0])
				}
				if p == nil {
					return pauseResult{Job: args[0]}, args[0] + " was not paused", err
				}
				return pauseResult{Job: args[0], Changed: true, Pause: p},
					fmt.Sprintf("%s is resumed; it was paused %s", args[0], pauseText(*p, job)), err
			})
		},
	}
	askFlags(cmd)
	actFlags(cmd, &act)
	out.flag(cmd)
	return cmd
}

// changePause calls do and prints its result.
func (c *cli) changePause(
	cmd *cobra.Command, name string, out format, fault error, do func(*client, *jobs.Job) (pauseResult, string, error),
) error {
	if err := flagFaults(cmd, fault, out.check()); err != nil {
		return err
	}
	a, err := c.connect(cmd)
	if err != nil {
		return err
	}
	defer a.close()
	job, err := a.findJob(cmd.Context(), name)
	if err != nil {
		return err
	}
	done, text, err := do(a, job)
	if err != nil {
		return a.explain(name, err)
	}
	if out == asJSON {
		return writeJSON(c.stdout, done)
	}
	_, err = fmt.Fprintln(c.stdout, output.Line(text))
	return err
}

func pauseText(p fleet.Pause, job *jobs.Job) string {
	text := fmt.Sprintf("by %s since %s", p.By, p.Since.In(zone(job)).Format(output.TimeLayout))
	if p.Reason != "" {
		text += ", " + p.Reason
	}
	return text
}
