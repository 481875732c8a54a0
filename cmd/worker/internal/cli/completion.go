package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/fleet"
)

// completionTimeout is how long a shell waits for the fleet before it offers the configured jobs
// alone.
const completionTimeout = time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeJob returns the names of the configured jobs and then of the others that the fleet has,
// for completion in a shell.
func (c *cli) completeJob(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && !strings.Contains(cmd.Use, "...") {
		return nil, noFiles
	}
	var names []string
	if cfg, err := c.load(cmd); err == nil {
		for _, entry := range cfg.Jobs {
			names = append(names, entry.Spec.Name)
		}
	}
	for _, j := range c.fleetJobs(cmd, completionTimeout) {
		if !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), noFiles
}

// completeLeftOver returns the jobs that no replica serves, for the completion of forget.
func (c *cli) completeLeftOver(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	for _, j := range c.fleetJobs(cmd, stores.CommandTimeout) {
		if j.LeftOver() {
			names = append(names, j.Name)
		}
	}
	return names, noFiles
}

// fleetJobs returns the jobs that the fleet has, for a command that asks it; none when it does not
// answer in time.
func (c *cli) fleetJobs(cmd *cobra.Command, timeout time.Duration) []fleet.JobStatus {
	if cmd.Flags().Lookup("redis") == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	cmd.SetContext(ctx)
	a, err := c.connect(cmd)
	if err != nil {
		return nil
	}
	defer a.close()
	s, err := a.ask.Status(ctx, a.jobs())
	if err != nil {
		return nil
	}
	return s.Jobs
}
