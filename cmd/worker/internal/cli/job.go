package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
)

func (c *cli) describe() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "describe JOB",
		Short: "Print everything about one job",
		Long: "describe prints one job: its schedule and policies, its definitions on the live replicas, and how they differ. It\n" +
			"prints the replicas that serve the job, its pause, its open and next ticks, and its newest outcomes. It also prints\n" +
			"how often each outcome occurred, and how long runs took. For a job that is not in this configuration it prints what\n" +
			"the fleet knows. Times are as in status.",
		Example: `  worker describe nightly-report --config solotick.yaml
  worker describe nightly-report -n 20
  worker describe nightly-report --output json | jq .counts`,
		Args: jobArgument,
	}
	cmd.Flags().IntVarP(&count, "count", "n", 5, "how many coming `ticks`, and how many outcomes")
	return c.jobCommand(cmd, func([]string) error { return checkCount(count, protocol.MaxHistory) }, func(call invocation) error {
		d, err := call.ask.Describe(call.ctx, call.name, call.job, count, count)
		return call.show(d, err, func(v render.View) (string, error) {
			v.Now = d.Now
			return descriptionText(v, d), nil
		})
	})
}

func descriptionText(v render.View, d fleet.Description) string {
	v = v.In(render.Zone(d.Timezone))
	text := render.Head(v, d.Name, d.Namespace) + "\n" + render.Job(v, d).Text(v)
	if len(d.Outcomes) > 0 {
		text += "\n" + render.History(v, d.Outcomes).Text(v)
	}
	return text
}

func (c *cli) history() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "history JOB",
		Short: "Print the last ticks of a job, with their outcomes",
		Long: "history prints the ticks of a job: those that run or wait, and then the last ones that were settled, newest tick first,\n" +
			fmt.Sprintf("as the fleet remembers them: the last %d, or as many as the job's history says, none older than %d days. A job that is gone can be asked for as long as\n",
				protocol.History, int(wire.DefaultAge/(24*time.Hour))) +
			"the fleet has its record. Times are fleet time in the job's time zone: in a terminal as people read them, with what\n" +
			"went wrong below each tick; in a pipe in full.",
		Example: `  worker history nightly-report --config solotick.yaml
  worker history nightly-report -n 100
  worker history nightly-report --output json | jq '.[] | select(.outcome == "failed") | .error'`,
		Args: jobArgument,
	}
	cmd.Flags().IntVarP(&count, "count", "n", 20, "how many settled `ticks`")
	return c.jobCommand(cmd, func([]string) error { return checkCount(count, protocol.MaxHistory) }, func(call invocation) error {
		list, err := call.ask.History(call.ctx, call.name, count)
		list = slices.DeleteFunc(list, func(e fleet.Entry) bool { return e.IsEmpty(call.job) })
		return call.show(list, err, func(v render.View) (text string, err error) {
			if len(list) == 0 {
				fmt.Fprintf(c.stderr, "no tick of %s is open or was settled\n", call.name)
			}
			v = v.In(zone(call.job))
			v.Now, err = call.ask.Now(call.ctx)
			return render.History(v, list).Text(v), err
		})
	})
}

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
	}, nil, func(call invocation) (err error) {
		var tick time.Time
		if len(call.args) == 2 {
			if tick, err = call.tick(call.ctx, call.name, call.args[1], call.job); err != nil {
				return err
			}
		}
		e, err := call.ask.Why(call.ctx, call.name, call.job, tick)
		return call.print(e, render.Why(e), err)
	})
}
