package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/jobs"
)

func (c *cli) why() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "why JOB [TICK]",
		Short: "Say in words what became of a tick, and why",
		Long: "why says who ran a tick, or why nobody did: skipped because an earlier one still ran, missed because nobody was\n" +
			"there, paused, lost, not due. Without a TICK it tells of the oldest that is due, or else of the newest that was\n" +
			"decided. A TICK is a time, with or without a zone, else in the job's; a time of today or yesterday; Unix ms; or\n" +
			"the id that trigger prints.",
		Example: `  worker why nightly-report --config solotick.yaml
  worker why nightly-report 02:00
  worker why nightly-report '2026-11-20 02:00:00'
  worker why nightly-report 2026-11-20T01:00:00Z --output json`,
		Args: jobAndTick,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			a, err := c.connect(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			ctx, name := cmd.Context(), args[0]
			job, err := a.findJob(ctx, name)
			if err != nil {
				return err
			}
			var tick time.Time
			if len(args) == 2 {
				if tick, err = a.tick(ctx, name, args[1], job); err != nil {
					return err
				}
			}
			e, err := a.fleet.Why(ctx, name, job, tick)
			if err != nil {
				return a.explain(name, err)
			}
			if out == asJSON {
				return writeJSON(c.stdout, e)
			}
			_, err = fmt.Fprintln(c.stdout, output.Lines(e.String()))
			return err
		},
	}
	whereFlags(cmd)
	out.flag(cmd)
	return cmd
}

// readTick reads the time of a tick. A time without a date is the last one before now. Of one that
// a clock change repeats it is that at which the job, where it is known, has a tick.
func readTick(text string, now time.Time, zone *time.Location, job *jobs.Job) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && len(text) >= 12 {
		return time.UnixMilli(ms), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 -0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return scheduledOne(atWall(t, zone), job), nil
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			n := now.In(zone)
			on := func(day int) time.Time {
				reading := time.Date(n.Year(), n.Month(), day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
				return scheduledOne(atWall(reading, zone), job)
			}
			if today := on(n.Day()); !today.After(now) {
				return today, nil
			}
			return on(n.Day() - 1), nil
		}
	}
	return time.Time{}, errors.New(strconv.Quote(text) + ` must be a time, such as "2026-11-20 02:00", 02:00 or 2026-11-20T01:00:00Z, Unix ms, or a tick's id of this job`)
}
