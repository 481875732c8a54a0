package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/render"
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
	return c.actCommand(&cobra.Command{
		Use:   "pause JOB",
		Short: "Make the whole fleet skip a job's ticks, until resume",
		Long: "pause makes every replica skip the ticks of a job, now and after restarts, until somebody resumes it. A run in progress\n" +
			"continues: cancel ends it. trigger still works. A leader task has no ticks: its run ends at once, and it starts again\n" +
			"when it is resumed. Pausing a paused job changes only the reason.",
		Example: `  worker pause nightly-report --reason "the database moves" --config solotick.yaml
  worker pause nightly-report --by ops1 --output json`,
		Args: jobArgument,
	}, nil, func(call invocation) error {
		p, err := call.ask.Pause(call.ctx, call.name, call.act)
		text := fmt.Sprintf("%s is paused: %s", call.name, pauseText(p, call.job))
		if p.Before {
			text = fmt.Sprintf("%s was already paused: %s", call.name, pauseText(p, call.job))
		}
		if call.job != nil && call.job.Spec().Leader {
			text += "; its run ends, and it starts again when it is resumed"
		}
		return call.print(pauseResult{Job: call.name, Paused: true, Changed: !p.Before, Pause: &p}, render.Line(text), err)
	})
}

func (c *cli) resume() *cobra.Command {
	return c.actCommand(&cobra.Command{
		Use:   "resume JOB",
		Short: "End the pause of a job, for the whole fleet",
		Long: "resume ends a pause. Ticks that were due during the pause stay skipped. A job with paused: true in the configuration\n" +
			"stays paused: change that key, and the replicas reload it.",
		Example: `  worker resume nightly-report --config solotick.yaml`,
		Args:    jobArgument,
	}, nil, func(call invocation) error {
		p, err := call.ask.Resume(call.ctx, call.name, call.act)
		if call.job != nil && call.job.Spec().Paused {
			fmt.Fprintf(c.stderr, "warning: this configuration still pauses %s\n", call.name)
		}
		text := call.name + " was not paused"
		if p != nil {
			text = fmt.Sprintf("%s is resumed; it was paused %s", call.name, pauseText(*p, call.job))
		}
		return call.print(pauseResult{Job: call.name, Changed: p != nil, Pause: p}, render.Line(text), err)
	})
}

func pauseText(p fleet.Pause, job *jobs.Job) string {
	text := fmt.Sprintf("by %s since %s", p.By, p.Since.In(zone(job)).Format(render.TimeLayout))
	if p.Reason != "" {
		text += ", " + p.Reason
	}
	return text
}
