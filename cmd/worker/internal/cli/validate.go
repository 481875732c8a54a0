package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/registry"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/cmd/worker/internal/tracing"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) validate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Print the errors of a configuration",
		Long: "validate reads the configuration as run does, makes all jobs, and starts none. It prints each error to standard error\n" +
			"with file, line and column; the exit code is 2 if there are any. It also warns of ticks in the coming year that a\n" +
			"clock change moves, skips or repeats. That is no error.",
		Example: `  worker validate --config solotick.yaml`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(cmd)
			if err != nil {
				return err
			}
			registry, err := c.check(cfg)
			if err != nil {
				return err
			}
			now := time.Now()
			c.warnOfClockChanges(cfg, registry, now, now.AddDate(1, 0, 0))
			_, err = fmt.Fprintf(c.stdout, "%s: %s%s, no errors\n", c.file, render.Count(len(cfg.Jobs), "job"), leaderTasks(cfg))
			return err
		},
	}
}

// check reports what would keep a replica from starting with cfg. It returns the jobs, which cannot
// run.
func (c *cli) check(cfg *config.Config) (*jobs.Registry, error) {
	if err := errors.Join(stores.Check(cfg), tracing.Check(cfg.Tracing)); err != nil {
		return nil, err
	}
	return registry.New(cfg, c.file, nil)
}

// maxWarnings is the number of clock changes that validate prints.
const maxWarnings = 20

// warnOfClockChanges warns of ticks that a clock change moves, skips or repeats. A tick that runs
// once although its local time is repeated is right.
func (c *cli) warnOfClockChanges(cfg *config.Config, registry *jobs.Registry, from, to time.Time) {
	found := 0
	for _, entry := range cfg.Jobs {
		job, ok := registry.Get(entry.Spec.Name)
		if !ok {
			continue
		}
		for _, change := range job.Schedule().ClockChanges(from, to) {
			if change.Kind == "runs_once" {
				continue
			}
			if found++; found <= maxWarnings {
				fmt.Fprintf(c.stderr, "%s:%d: warning: job %s: %s\n", c.file, entry.Line, job.Name(), change)
			}
		}
	}
	if more := found - maxWarnings; more > 0 {
		fmt.Fprintf(c.stderr, "%s: warning: and %d more like these\n", c.file, more)
	}
}

// leaderTasks returns a note with the names of the leader tasks, or an empty text.
func leaderTasks(cfg *config.Config) string {
	var names []string
	for _, job := range cfg.Jobs {
		if job.Spec.Leader {
			names = append(names, job.Spec.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", leaderNote, strings.Join(names, ", "))
}
