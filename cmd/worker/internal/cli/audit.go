package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
)

func (c *cli) audit() *cobra.Command {
	var count int
	var budget bytesFlag
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Print who did what to the fleet, and why",
		Long: "audit prints what people did, newest first. An act is a pause, resume, trigger, cancel, repair or forget of a job,\n" +
			"or the release of a lock. Each has its time, the person and the reason. It also has its way: cli, console, api, or\n" +
			"go for a program. Acts on jobs that are gone stay in the list. The store keeps the newest acts within a budget in\n" +
			"bytes, which --budget sets for the whole fleet. Times are fleet time in UTC.",
		Example: `  worker audit --config solotick.yaml
  worker audit -n 500
  worker audit --output json | jq '.acts[] | select(.job == "nightly-report")'
  worker audit --budget 16MiB`,
		Args: noArguments,
	}
	cmd.Flags().IntVarP(&count, "count", "n", 20, "how many `acts`")
	cmd.Flags().Var(&budget, "budget", "first set how many `BYTES` the log may take, such as 16MiB, lasting and for the whole fleet")
	return c.fleetCommand(cmd, func([]string) error {
		fault := checkCount(count, mostActs)
		if budget != 0 && (budget < protocol.MinAuditBudget || budget > protocol.MaxAuditBudget) {
			fault = errors.Join(fault, fmt.Errorf("--budget: %s must be from %s to %s",
				budget, bytesFlag(protocol.MinAuditBudget), bytesFlag(protocol.MaxAuditBudget)))
		}
		if budget != 0 && cmd.Flags().Changed("server") {
			fault = errors.Join(fault, errors.New("--budget: does not go with --server: removing acts from the log needs direct access to the store"))
		}
		return fault
	}, func(call invocation) error {
		log, err := call.acts(count, int(budget))
		if err := call.show(log, err, func(v render.View) (string, error) { return render.Audit(v, log.Facts).Text(v), nil }); err != nil || call.out == asJSON {
			return err
		}
		_, err = fmt.Fprintf(c.stderr, "the log takes %s of %s\n", bytesFlag(log.Used), bytesFlag(log.Budget))
		return err
	})
}

// mostActs bounds -n.
const mostActs = 100_000

// acts returns the newest acts of the fleet. A budget above 0 is set before.
func (call invocation) acts(count, budget int) (log fleet.AuditLog, err error) {
	if budget != 0 {
		if err := call.fleet.SetAuditBudget(call.ctx, budget); err != nil {
			return log, err
		}
	}
	log, err = call.ask.Audit(call.ctx, "", min(count, protocol.MaxAuditPage))
	for err == nil && log.Next != "" && len(log.Facts) < count {
		var more fleet.AuditLog
		more, err = call.ask.Audit(call.ctx, log.Next, min(count-len(log.Facts), protocol.MaxAuditPage))
		log.Facts, log.Next = append(log.Facts, more.Facts...), more.Next
	}
	return log, err
}

// bytesFlag is a number of bytes: 512, 64KiB, 16MiB.
type bytesFlag int

// String returns b in its largest unit, with one decimal unless that is 0.
func (b bytesFlag) String() string { return render.Bytes(int(b)) }

// Set implements pflag.Value.
func (b *bytesFlag) Set(text string) error {
	digits, unit := text, 1
	if cut, ok := strings.CutSuffix(text, "MiB"); ok {
		digits, unit = cut, render.MiB
	} else if cut, ok := strings.CutSuffix(text, "KiB"); ok {
		digits, unit = cut, render.KiB
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 || n > 1<<31/uint64(unit) {
		return fmt.Errorf("%q must be a number of bytes such as 65536, 64KiB or 16MiB", text)
	}
	*b = bytesFlag(n) * bytesFlag(unit)
	return nil
}

// Type implements pflag.Value.
func (b *bytesFlag) Type() string { return "BYTES" }
