package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/render"
)

func (c *cli) runAgain() *cobra.Command {
	var o fleet.TriggerOptions
	var w waiting
	var payload string
	cmd := &cobra.Command{
		Use:   "run-again JOB TICK",
		Short: "Run a tick again that is over",
		Long: "run-again runs a settled tick of a job again, on one replica, and prints the new tick's id. The run has the time of the\n" +
			"old tick, as SOLOTICK_TICK, and an identity of its own, as SOLOTICK_TICK_ID, so that what deduplicates by it lets it\n" +
			"through. The old tick stays as it was settled, and the history links the two. No rate applies; overlap does. A paused\n" +
			"job can run ticks again. A stored schedule is JOB/KEY; its runs have its payload. The payload of a trigger is not kept,\n" +
			"so give it again. What a TICK can be, why says.\n\n" +
			"A tick that was lost may have done its work, and one that the history does not have may have run: both need --again.",
		Example: `  worker run-again nightly-report 02:00 --config solotick.yaml
  worker run-again nightly-report '2026-11-20 02:00:00' --wait --timeout 10m
  worker run-again customer-report/acme 07:00 --reason "the figures were corrected"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &usageError{fmt.Errorf("run-again takes the name of a job and a tick, and got %s", render.Count(len(args), "argument")), cmd}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.Anyway, "again", false, "also a tick that was lost, or that the history does not have")
	cmd.Flags().StringVar(&payload, "payload", "", "`TEXT` or @FILE: given to the run; at most 4096 bytes of UTF-8")
	w.flags(cmd, "wait until the new tick is settled, and print its outcome; exit 1 unless it succeeded")
	return c.actCommand(cmd, func([]string) (err error) {
		o.Payload, err = payloadOf(payload)
		return errors.Join(err, w.check(cmd))
	}, func(call invocation) (err error) {
		o.By, o.Reason, o.Via = call.act.By, call.act.Reason, call.act.Via
		if o.Again, err = call.tick(call.ctx, call.name, call.args[1], call.job); err != nil {
			return err
		}
		if err = c.triggerJob(call, o, w); errors.Is(err, fleet.ErrNotOver) && !o.Anyway {
			err = fmt.Errorf("%w; see worker history %s", err, call.name)
		}
		return err
	})
}
