package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
)

func (c *cli) why() *cobra.Command {
	return c.jobCommand(&cobra.Command{
		Use:   "why JOB [TICK]",
		Short: "Explain the outcome of a tick",
		Long: "why prints which replica ran a tick, or why none did. A tick can be skipped because an earlier tick still ran,\n" +
			"missed because no replica was alive, paused, lost, or not due. Without a TICK it explains the oldest tick that is\n" +
			"due, or else the newest that was decided. Below that are the policy that decided, and what would have made the tick\n" +
			"run. A TICK is a time, in the job's time zone unless it has one. A time of today or yesterday, Unix ms, or the id\n" +
			"that trigger prints will do, too.",
		Example: `  worker why nightly-report --config solotick.yaml
  worker why nightly-report 02:00
  worker why nightly-report '2026-11-20 02:00:00'
  worker why nightly-report 2026-11-20T01:00:00Z --output json`,
		Args: jobAndTick,
	}, nil, func(call jobCall) error {
		var tick time.Time
		if len(call.args) == 2 {
			var err error
			if tick, err = call.tick(call.ctx, call.name, call.args[1], call.job); err != nil {
				return err
			}
		}
		e, err := call.ask.Why(call.ctx, call.name, call.job, tick)
		return call.print(e, whyText(e), err)
	})
}

// whyText explains a tick: what became of it, the policy that decided, and what would have made it
// run.
func whyText(e fleet.Explanation) string {
	text := e.String()
	if e.Policy != "" {
		text += "\npolicy: " + e.Policy
	}
	if e.Remedy != "" {
		text += "\nremedy: " + e.Remedy
	}
	return text
}
