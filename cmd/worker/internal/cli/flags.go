package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/internal/render"
)

// fleetFlags adds the flags that name the fleet.
func fleetFlags(cmd *cobra.Command) {
	for _, o := range overrides {
		if o.flag == "store" || o.flag == "redis" || o.flag == "namespace" {
			cmd.Flags().String(o.flag, "", o.usage)
		}
	}
}

// jobArgument accepts one argument: a job.
func jobArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{fmt.Errorf("%s takes the name of one job, and got %s", cmd.Name(), render.Count(len(args), "argument")), cmd}
}

// flagFaults returns an error of the command line with the faults of its flags.
func flagFaults(cmd *cobra.Command, faults ...error) error {
	if err := errors.Join(faults...); err != nil {
		return &usageError{err, cmd}
	}
	return nil
}

// checkCount returns the fault of a -n that is out of range.
func checkCount(count, limit int) error {
	if count < 1 || count > limit {
		return fmt.Errorf("-n: %d must be from 1 to %d", count, limit)
	}
	return nil
}

// jobAndTick accepts a job, and optionally one of its ticks.
func jobAndTick(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return &usageError{fmt.Errorf("%s takes the name of a job and an optional tick, and got %s", cmd.Name(), render.Count(len(args), "argument")), cmd}
}
