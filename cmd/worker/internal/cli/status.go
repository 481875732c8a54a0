package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/render"
)

func (c *cli) status() *cobra.Command {
	return c.fleetCommand(&cobra.Command{
		Use:   "status [JOB...]",
		Short: "Print the jobs and the replicas of the fleet",
		Long: "status prints each job with its schedule, its next tick, its last run with outcome and replica, its last success,\n" +
			"and its open ticks. It prints each replica with the jobs that it serves, the offset of its clock and its last\n" +
			"heartbeat. It prints the named jobs, or those of the configuration and all others that replicas serve. Times are\n" +
			"fleet time in each job's time zone: short in a terminal, in full in a pipe.",
		Example: `  worker status --config solotick.yaml
  worker status nightly-report sync-orders
  worker status --redis redis://localhost:6379/0 --namespace billing
  worker status --output json | jq '.jobs[] | select(.unserved) | .job'`,
		Args: cobra.ArbitraryArgs,
	}, nil, func(call invocation) error {
		for _, name := range call.args {
			if _, err := call.findJob(call.ctx, name); err != nil {
				return err
			}
		}
		s, err := call.ask.Status(call.ctx, call.jobs(), call.args...)
		return call.show(s, err, func(v render.View) (string, error) {
			v.Now = s.Now
			return statusText(v, s), nil
		})
	})
}

func statusText(v render.View, s fleet.Status) string {
	text := fmt.Sprintf("namespace %s, fleet time %s, %s\n\n", s.Namespace, s.Now.Format(render.TimeLayout), render.Count(len(s.Replicas), "replica")) +
		render.Jobs(v, s.Jobs).Text(v)
	if replicas := slices.Concat(s.Replicas, s.Silent); len(replicas) > 0 {
		text += "\n" + render.Replicas(v, replicas).Text(v)
	}
	return text
}
