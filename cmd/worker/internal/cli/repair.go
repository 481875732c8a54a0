package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/render"
)

func (c *cli) repair() *cobra.Command {
	return c.actCommand(&cobra.Command{
		Use:   "repair JOB",
		Short: "Bring a watermark that lies in the future back to now",
		Long: "repair is for a job that stands still because the clock of Redis was wrong for so long that the fleet accepted it. Its\n" +
			"watermark then lies in the future, as status and why say, and no tick before it runs. repair brings the watermark, the\n" +
			"rate of triggers and the times of a pause or an edit back to now, so that the next tick runs. Ticks that ran by the\n" +
			"wrong clock do not run again when their time comes, as far as the history reaches; runs in progress continue. Set the\n" +
			"clock right first. If nothing lies in the future, nothing changes.",
		Example: `  worker repair nightly-report --config solotick.yaml
  worker repair nightly-report --by ops1 --output json`,
		Args: jobArgument,
	}, nil, func(call invocation) error {
		r, err := call.ask.Repair(call.ctx, call.name, call.act)
		return call.print(r, repairText(call.name, r, zone(call.job)), err)
	})
}

// repairText describes the result of a repair.
func repairText(job string, r fleet.Repaired, zone *time.Location) string {
	if !r.Changed {
		return fmt.Sprintf("nothing of %s lies in the future, so nothing was changed", job)
	}
	text := fmt.Sprintf("%s is repaired: its watermark was %s, and is now %s", job, render.Time(r.Before, zone), render.Time(r.Watermark, zone))
	if !r.Before.After(r.Watermark) {
		text = job + " is repaired: its watermark was right, and other times that were in the future are now"
	}
	if r.Exceptions > 0 {
		text += fmt.Sprintf("; later ticks that already ran or run do not run again: %s", render.Count(r.Exceptions, "tick"))
	}
	return text
}
