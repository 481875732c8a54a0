package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
)

// completeJob returns the names of the configured jobs, for completion in a shell.
func (c *cli) completeJob(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	cfg, err := c.load(cmd)
	if err != nil || len(args) > 0 && !strings.Contains(cmd.Use, "...") {
		return nil, noFiles
	}
	var names []string
	for _, entry := range cfg.Jobs {
		if !slices.Contains(args, entry.Spec.Name) {
			names = append(names, entry.Spec.Name)
		}
	}
	return names, noFiles
}

// completeLeftOver returns the jobs that no replica serves, for the completion of forget.
func (c *cli) completeLeftOver(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, noFiles
	}
	a, err := c.connect(cmd)
	if err != nil {
		return nil, noFiles
	}
	defer a.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), stores.CommandTimeout)
	defer cancel()
	s, err := a.fleet.Status(ctx, a.jobs())
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, j := range s.Jobs {
		if j.LeftOver() {
			names = append(names, j.Name)
		}
	}
	return names, noFiles
}
