package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
)

// maxTicks is the most ticks that next prints for a job.
const maxTicks = 1000

func (c *cli) next() *cobra.Command {
	var count int
	var out format
	cmd := &cobra.Command{
		Use:   "next [JOB...]",
		Short: "Print the coming ticks of each job",
		Long: "next prints the coming ticks of the named jobs, or of all jobs, in their time zones and by this machine's clock.\n" +
			"Times are short in a terminal, and in full in a pipe. It warns of ticks that a clock change moves, skips or\n" +
			"repeats.",
		Example: `  worker next --config solotick.yaml
  worker next -n 20 nightly-report
  worker next --output json | jq '.[].ticks[0].tick'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := flagFaults(cmd, checkCount(count, maxTicks), out.check()); err != nil {
				return err
			}
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			registry, err := c.check(cfg)
			if err != nil {
				return err
			}
			chosen, err := choose(cfg, names)
			if err != nil {
				return &usageError{err, cmd}
			}
			now := time.Now()
			previews := make([]preview, len(chosen))
			for i, name := range chosen {
				job, _ := registry.Get(name)
				previews[i] = lookAhead(job, now, count)
			}
			if out == asJSON {
				return writeJSON(c.stdout, previews)
			}
			v := output.NewView(c.stdout, c.env)
			v.Now = now
			return c.print(v, previews)
		},
	}
	cmd.Flags().IntVarP(&count, "count", "n", 5, "how many `ticks` of each job")
	out.flag(cmd)
	return cmd
}

// choose returns the named jobs, each once, or all jobs in the order of the file.
func choose(cfg *config.Config, names []string) ([]string, error) {
	known := make([]string, len(cfg.Jobs))
	for i, job := range cfg.Jobs {
		known[i] = job.Spec.Name
	}
	if len(names) == 0 {
		return known, nil
	}
	var chosen []string
	var faults []error
	for _, name := range names {
		if !slices.Contains(known, name) {
			faults = append(faults, fmt.Errorf("%q is not a job of this configuration; there are: %s", name, strings.Join(known, ", ")))
		} else if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, errors.Join(faults...)
}

// preview is the output of next for one job, in JSON.
type preview struct {
	Job      string         `json:"job"`
	Schedule string         `json:"schedule"`
	Words    string         `json:"schedule_words"` // the schedule itself where there are none
	Timezone string         `json:"timezone"`
	Leader   bool           `json:"leader"` // it always runs, and has no ticks
	Paused   bool           `json:"paused"`
	Ticks    []comingTick   `json:"ticks"`
	Warnings []clockWarning `json:"warnings"`

	empty bool // it has no ticks of its own
}

type comingTick struct {
	Tick  string `json:"tick"`  // in UTC, as in SOLOTICK_TICK
	Local string `json:"local"` // in the job's time zone

	at   time.Time // in the job's time zone
	note string    // of the table
}

type clockWarning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func lookAhead(job *jobs.Job, now time.Time, count int) preview {
	sched, spec := job.Schedule(), job.Spec()
	o := preview{
		Job: job.Name(), Schedule: spec.Schedule, Timezone: sched.Location().String(), Leader: spec.Leader, Paused: spec.Paused,
		Ticks: []comingTick{}, Warnings: []clockWarning{},
	}
	if spec.Leader {
		return o
	}
	o.Schedule, o.Words, o.empty = sched.String(), sched.Words(nil), sched.Empty()
	for at := sched.Next(now); !at.IsZero() && len(o.Ticks) < count; at = sched.Next(at) {
		o.Ticks = append(o.Ticks, comingTick{
			Tick: at.Format("2006-01-02T15:04:05.000Z07:00"), Local: at.In(sched.Location()).Format(time.RFC3339), at: at.In(sched.Location()),
		})
	}
	if len(o.Ticks) == 0 {
		return o
	}
	for _, change := range sched.ClockChanges(now, o.Ticks[len(o.Ticks)-1].at) {
		o.Warnings = append(o.Warnings, clockWarning{change.Kind, change.String()})
		for i := range o.Ticks {
			if o.Ticks[i].at.Equal(change.RunsAt) {
				o.Ticks[i].note = note(change)
			}
		}
	}
	return o
}

// leaderNote is shown by next for a leader task, instead of ticks.
const leaderNote = "leader task, runs all the time"

// whyNoTicks says why a job has no ticks.
func (o preview) whyNoTicks() string {
	switch {
	case o.Leader && o.Paused:
		return "leader task, paused: does not run"
	case o.Leader:
		return leaderNote
	case o.empty:
		return o.Words
	default:
		return "no tick is coming"
	}
}

// note describes what a clock change does to its first tick.
func note(change schedule.ClockChange) string {
	switch change.Kind {
	case "moved":
		if change.Merged {
			return "moved and merged by a clock change"
		}
		return "moved by a clock change"
	case "repeated":
		return "again, since a clock change repeats its time"
	case "runs_once":
		return "once, though a clock change repeats its time"
	case "skipped": // no tick is left to note it at
	}
	return ""
}

// print writes a table to stdout, and warnings to stderr, so that programs that read the table do
// not see them.
func (c *cli) print(v render.View, previews []preview) error {
	if _, err := io.WriteString(c.stdout, nextTable(v, previews).Text(v)); err != nil {
		return err
	}
	for _, o := range previews {
		for _, warning := range o.Warnings {
			fmt.Fprintf(c.stderr, "warning: job %s: %s\n", o.Job, warning.Text)
		}
	}
	return nil
}

func nextTable(v render.View, previews []preview) *render.Table {
	t := render.NewTable("JOB", "TICK", "ZONE", "NOTE")
	if v.Human {
		t = render.NewTable("JOB", "IN", "TICK", "ZONE", "SCHEDULE", "NOTE")
	}
	for _, o := range previews {
		words := o.Words // on the job's first row
		row := func(tick time.Time, note string) {
			cells := append(render.Row(o.Job, v.In(tick.Location()).Tick(tick), o.Timezone), render.Cell{Text: note, Style: render.Yellow})
			if v.Human {
				relative := render.Cell{}
				if !tick.IsZero() {
					relative.Text = strings.TrimPrefix(v.Relative(tick), "in ")
				}
				cells = slices.Insert(cells, 1, relative)
				cells = slices.Insert(cells, 4, render.Cell{Text: words})
				words = ""
			}
			t.Add(cells...)
		}
		if len(o.Ticks) == 0 {
			row(time.Time{}, o.whyNoTicks())
		}
		for _, tick := range o.Ticks {
			notes := []string{}
			if o.Paused {
				notes = append(notes, "paused: will be skipped")
			}
			if tick.note != "" {
				notes = append(notes, tick.note)
			}
			row(tick.at, strings.Join(notes, "; "))
		}
	}
	return t
}
