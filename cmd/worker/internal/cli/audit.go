package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func (c *cli) audit() *cobra.Command {
	var count int
	var budget bytesFlag
	var out format
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			fault := checkCount(count, mostActs)
			if budget != 0 && (budget < protocol.MinAuditBudget || budget > protocol.MaxAuditBudget) {
				fault = errors.Join(fault, fmt.Errorf("--budget: %s must be from %s to %s",
					budget, bytesFlag(protocol.MinAuditBudget), bytesFlag(protocol.MaxAuditBudget)))
			}
			if budget != 0 && cmd.Flags().Changed("server") {
				fault = errors.Join(fault, errors.New("--budget: does not go with --server: removing acts from the log needs direct access to the store"))
			}
			if err := flagFaults(cmd, fault, out.check()); err != nil {
				return err
			}
			a, err := c.connect(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			if err := c.printAudit(cmd.Context(), a, count, int(budget), out); err != nil {
				return a.explain("", err)
			}
			return nil
		},
	}
	askFlags(cmd)
	cmd.Flags().IntVarP(&count, "count", "n", 20, "how many `acts`")
	cmd.Flags().Var(&budget, "budget", "first set how many `BYTES` the log may take, such as 16MiB, lasting and for the whole fleet")
	out.flag(cmd)
	return cmd
}

// mostActs bounds -n.
const mostActs = 100_000

func (c *cli) printAudit(ctx context.Context, a *client, count, budget int, out format) error {
	if budget != 0 {
		if err := a.fleet.SetAuditBudget(ctx, budget); err != nil {
			return err
		}
	}
	log, err := a.ask.Audit(ctx, "", min(count, protocol.MaxAuditPage))
	for err == nil && log.Next != "" && len(log.Facts) < count {
		var more fleet.AuditLog
		more, err = a.ask.Audit(ctx, log.Next, min(count-len(log.Facts), protocol.MaxAuditPage))
		log.Facts, log.Next = append(log.Facts, more.Facts...), more.Next
	}
	if err != nil {
		return err
	}
	if out == asJSON {
		return writeJSON(c.stdout, log)
	}
	v := output.NewView(c.stdout, c.env, time.Now())
	if err := auditTable(log.Facts).Print(c.stdout, v); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stderr, "the log takes %s of %s\n", bytesFlag(log.Used), bytesFlag(log.Budget))
	return err
}

func auditTable(acts []fleet.Fact) *output.Table {
	t := output.NewTable("AT", "WHO", "VIA", "DID", "WHAT", "WHY")
	for _, f := range acts {
		what, more := f.Job, ""
		switch f.Kind {
		case wire.FactTriggered, wire.FactCancelled:
			more = "tick " + output.Time(f.Tick, time.UTC)
			if f.Key != "" {
				more += ", key " + f.Key
			}
		case wire.FactResumed:
			more = "which " + f.Pauser + " had paused"
		case wire.FactReleased:
			what, more = "lock "+f.Lock, "held by "+f.Replica
		default:
		}
		if more != "" {
			what += " (" + more + ")"
		}
		t.Add(output.Row(output.Time(f.At, time.UTC), f.By, f.Via, f.Kind, what, f.Reason)...)
	}
	return t
}
