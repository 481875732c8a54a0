package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) why() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "why JOB [TICK]",
		Short: "Explain the outcome of a tick",
		Long: "why says which replica ran a tick, or why none did: it was skipped because an earlier tick still ran, missed because no\n" +
			"replica was alive, paused, lost, or is not due. Without a TICK it explains the oldest tick that is due, or else the\n" +
			"newest that was decided. A TICK is a time, in the job's time zone unless it has one; a time of today or yesterday;\n" +
			"Unix ms; or the id that trigger prints.",
		Example: `  worker why nightly-report --config solotick.yaml
  worker why nightly-report 02:00
  worker why nightly-report '2026-11-20 02:00:00'
  worker why nightly-report 2026-11-20T01:00:00Z --output json`,
		Args: jobAndTick,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			name := args[0]
			return c.withJob(cmd, name, func(ctx context.Context, a *client, job *jobs.Job) error {
				var tick time.Time
				if len(args) == 2 {
					var err error
					if tick, err = a.tick(ctx, name, args[1], job); err != nil {
						return err
					}
				}
				e, err := a.ask.Why(ctx, name, job, tick)
				if err != nil {
					return a.explain(name, err)
				}
				if out == asJSON {
					return writeJSON(c.stdout, e)
				}
				_, err = fmt.Fprintln(c.stdout, output.Lines(e.String()))
				return err
			})
		},
	}
	askFlags(cmd)
	out.flag(cmd)
	return cmd
}
