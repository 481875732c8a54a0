package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

// jobCall is one call of a command about a job.
type jobCall struct {
	*client
	ctx  context.Context //nolint:containedctx // of this call only
	args []string        // the first one is the name of the job
	name string
	job  *jobs.Job // nil for a job that only replicas or records know
	act  fleet.Act // of a command that changes something
	out  format
	cli  *cli
}

// jobCommand completes a command about the job that its first argument names. It adds the flags
// that such commands share; a call checks all flags, connects to the fleet and looks the job up.
// faults are those of the command's own flags.
func (c *cli) jobCommand(cmd *cobra.Command, faults func(args []string) error, run func(call jobCall) error) *cobra.Command {
	var out format
	askFlags(cmd)
	out.flag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var fault error
		if faults != nil {
			fault = faults(args)
		}
		if err := flagFaults(cmd, fault, out.check()); err != nil {
			return err
		}
		a, err := c.connect(cmd)
		if err != nil {
			return err
		}
		defer a.close()
		job, err := a.findJob(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return run(jobCall{client: a, ctx: cmd.Context(), args: args, name: args[0], job: job, out: out, cli: c})
	}
	return cmd
}

// actCommand is a jobCommand that changes something: it knows who asks, and why.
func (c *cli) actCommand(cmd *cobra.Command, faults func(args []string) error, run func(call jobCall) error) *cobra.Command {
	var flags, act fleet.Act
	actFlags(cmd, &flags)
	return c.jobCommand(cmd, func(args []string) (err error) {
		if act, err = c.act(flags); faults != nil {
			err = errors.Join(err, faults(args))
		}
		return err
	}, func(call jobCall) error {
		call.act = act
		return run(call)
	})
}

// print prints v as JSON, or else the text, unless the fleet has answered with an error.
func (call jobCall) print(v any, text string, err error) error {
	switch {
	case err != nil:
		return call.explain(call.name, err)
	case call.out == asJSON:
		return writeJSON(call.cli.stdout, v)
	}
	_, err = fmt.Fprintln(call.cli.stdout, output.Lines(text))
	return err
}
