package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
)

func (c *cli) forget() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget JOB",
		Short: "Remove the record of a job that is gone",
		Long: "forget removes the record of a job that no replica serves any more, which status shows as left over: its history, its\n" +
			"pause and its triggers. It is refused while a live replica serves the job or a tick of it is open: cancel that tick\n" +
			"first. A replica that gets the job later starts it as a new job, and catches up nothing. In a terminal it asks before\n" +
			"it removes anything; elsewhere it needs --yes. The audit log records who removed it.",
		Example: `  worker forget old-report --config solotick.yaml
  worker forget old-report --yes --by ops1`,
		Args:              jobArgument,
		ValidArgsFunction: c.completeLeftOver,
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove it without asking")
	return c.actCommand(cmd, func([]string) error {
		if !yes && !output.IsTerminal(cmd.InOrStdin()) {
			return errors.New("--yes: needed where there is no terminal to ask in, because a removed record cannot be restored")
		}
		return nil
	}, func(call invocation) error { return c.forgetJob(call, yes) })
}

func (c *cli) forgetJob(call invocation, yes bool) error {
	found, err := call.ask.Forgettable(call.ctx, call.name)
	if err != nil {
		return call.explain(call.name, err)
	}
	if !yes {
		question := fmt.Sprintf("Remove the record of %s with %s, for good?", call.name, render.Count(found.Outcomes, "outcome"))
		if ok, err := confirm(call.ctx, call.cmd.InOrStdin(), c.stderr, question); err != nil || !ok {
			return errors.Join(errors.New("nothing was removed"), err)
		}
	}
	done, err := call.ask.Forget(call.ctx, call.name, call.act)
	text := fmt.Sprintf("%s is forgotten: its record and %s are removed", call.name, render.Count(done.Outcomes, "outcome"))
	if err := call.print(done, text, err); err != nil || call.out == asJSON {
		return err
	}
	if call.job != nil && call.worker == nil {
		fmt.Fprintln(c.stderr, "this configuration has the job: a replica that starts with it creates a new record")
	}
	return nil
}

// confirm asks a question and waits for an answer until ctx ends. Only y and yes agree.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	if _, err := fmt.Fprint(out, question+" [y/N] "); err != nil {
		return false, err
	}
	lines := make(chan string, 1)
	go func() { // without an answer, it ends with the process
		line, _ := bufio.NewReader(in).ReadString('\n')
		lines <- line
	}()
	select {
	case line := <-lines:
		return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// whoForgot returns a note that names who removed the record of an unknown job, or an empty text.
func (a *client) whoForgot(ctx context.Context, name string) string {
	facts, err := a.fleet.Facts(ctx, "")
	if err != nil {
		return ""
	}
	for _, f := range facts {
		if f.Kind == wire.FactForgotten && f.Job == name {
			return fmt.Sprintf("; %s has removed its record at %s%s", f.By, render.Time(f.At, time.UTC), render.Reason(f.Reason))
		}
	}
	return ""
}
