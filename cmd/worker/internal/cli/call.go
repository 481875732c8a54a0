package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
)

// format is the output format of a command: text or json.
type format string

const (
	asText format = "text"
	asJSON format = "json"
)

func (o *format) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(o), "output", string(asText), "text or json")
}

func (o format) check() error {
	if o != asText && o != asJSON {
		return fmt.Errorf("--output: %q must be text or json", string(o))
	}
	return nil
}

// writeJSON prints v on several lines.
func writeJSON(w io.Writer, v any) error {
	text, err := fleet.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, append(text, '\n'), "", "  "); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// invocation is one call of a command that asks a fleet.
type invocation struct {
	*client
	ctx  context.Context //nolint:containedctx // of this call only
	args []string
	name string    // of a command about a job: its first argument
	job  *jobs.Job // nil for a job that only replicas or records know
	act  fleet.Act // of a command that changes something
	out  format
	cli  *cli
}

// fleetCommand completes a command that asks a fleet. It adds the flags that such commands share; a
// call checks all flags and connects. faults are those of the command's own flags.
func (c *cli) fleetCommand(cmd *cobra.Command, faults func(args []string) error, run func(call invocation) error) *cobra.Command {
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
		return run(invocation{client: a, ctx: cmd.Context(), args: args, out: out, cli: c})
	}
	return cmd
}

// jobCommand is a fleetCommand about the job that its first argument names.
func (c *cli) jobCommand(cmd *cobra.Command, faults func(args []string) error, run func(call invocation) error) *cobra.Command {
	return c.fleetCommand(cmd, faults, func(call invocation) (err error) {
		call.name = call.args[0]
		if call.job, err = call.findJob(call.ctx, call.name); err != nil {
			return err
		}
		return run(call)
	})
}

// actCommand is a jobCommand that changes something: it knows who asks, and why.
func (c *cli) actCommand(cmd *cobra.Command, faults func(args []string) error, run func(call invocation) error) *cobra.Command {
	var flags, act fleet.Act
	actFlags(cmd, &flags)
	return c.jobCommand(cmd, func(args []string) (err error) {
		if act, err = c.act(flags); faults != nil {
			err = errors.Join(err, faults(args))
		}
		return err
	}, func(call invocation) error {
		call.act = act
		return run(call)
	})
}

// print prints v as JSON, or else a line of text, unless the fleet has answered with an error.
func (call invocation) print(v any, text string, err error) error {
	return call.show(v, err, func(render.View) (string, error) { return render.Lines(text) + "\n", nil })
}

// show prints v as JSON, or else as text, unless the fleet has answered with an error.
func (call invocation) show(v any, err error, text func(v render.View) (string, error)) error {
	switch {
	case err != nil:
		return call.explain(call.name, err)
	case call.out == asJSON:
		return writeJSON(call.cli.stdout, v)
	}
	shown, err := text(output.NewView(call.cli.stdout, call.cli.env))
	if err != nil {
		return call.explain(call.name, err)
	}
	_, err = io.WriteString(call.cli.stdout, shown)
	return err
}
