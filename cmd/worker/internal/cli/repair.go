package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
)

// repaired is the JSON output of repair. Times are RFC 3339 in UTC.
type repaired struct {
	Job        string    `json:"job"`
	Changed    bool      `json:"changed"` // false when nothing lay in the future
	Before     time.Time `json:"before"`
	Watermark  time.Time `json:"watermark"`
	Exceptions int       `json:"exceptions"` // ticks past the watermark that never run again
}

func (c *cli) repair() *cobra.Command {
	var by string
	var out format
	cmd := &cobra.Command{
		Use:   "repair JOB",
		Short: "Bring a job's watermark back to now that lies in the future",
		Long: "repair is for a job that stands still after the clock of Redis was wrong for so long that the fleet accepted it: its\n" +
			"watermark lies in the future, as status and why say, and no tick up to it would run. It brings the watermark, the\n" +
			"rate of triggers and the times of a pause or an edit back to now. The next tick runs again. What ran by the wrong\n" +
			"clock does not run again when its time comes, as far as the history goes; what runs goes on. Put the clock right\n" +
			"first. Where nothing lies in the future, nothing changes.",
		Example: `  worker repair nightly-report --config solotick.yaml
  worker repair nightly-report --by ops1 --output json`,
		Args: jobArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			who, fault := c.by(by)
			if err := flagFaults(cmd, fault, out.check()); err != nil {
				return err
			}
			a, err := c.connect(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			name := args[0]
			job, err := a.findJob(cmd.Context(), name)
			if err != nil {
				return err
			}
			r, err := a.fleet.Repair(cmd.Context(), name, who)
			if err != nil {
				return a.explain(name, err)
			}
			if out == asJSON {
				return writeJSON(c.stdout, repaired{name, r.Changed, r.Before, r.Watermark, r.Exceptions})
			}
			_, err = fmt.Fprintln(c.stdout, repairText(name, r, zone(job)))
			return err
		},
	}
	whereFlags(cmd)
	c.byFlag(cmd, &by)
	out.flag(cmd)
	return cmd
}

// repairText says what a repair has done.
func repairText(job string, r fleet.Repaired, zone *time.Location) string {
	if !r.Changed {
		return fmt.Sprintf("nothing of %s lies in the future, so nothing was changed", job)
	}
	text := fmt.Sprintf("%s is repaired: its watermark was %s, and is now %s", job, output.Time(r.Before, zone), output.Time(r.Watermark, zone))
	if !r.Before.After(r.Watermark) {
		text = job + " is repaired: its watermark was right, and other times that lay in the future are now"
	}
	if r.Exceptions > 0 {
		text += fmt.Sprintf("; what ran or runs already of later ticks does not run again: %s", output.Count(r.Exceptions, "tick"))
	}
	return text
}
