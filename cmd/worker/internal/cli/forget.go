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
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// forgotten is the JSON output of forget. Times are RFC 3339 in UTC.
type forgotten struct {
	Job       string    `json:"job"`
	Watermark time.Time `json:"watermark"`
	Outcomes  int       `json:"outcomes"` // in its history
	By        string    `json:"by"`
}

func (c *cli) forget() *cobra.Command {
	var act fleet.Act
	var yes bool
	var out format
	cmd := &cobra.Command{
		Use:   "forget JOB",
		Short: "Remove the record of a job that is gone",
		Long: "forget removes the record of a job that no replica serves any more, which status shows as left over: its history, its\n" +
			"pause and its triggers. It is refused while a live replica serves the job or a tick of it is open: cancel that tick\n" +
			"first. A replica that gets the job later starts it as a new job, and catches up nothing. In a terminal it asks before\n" +
			"it removes anything; elsewhere it needs --yes. The audit log records who removed it.",
		Example: `  worker forget old-report --config solotick.yaml
  worker forget old-report --yes --by ops1`,
		Args: jobArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			who, fault := c.act(act)
			if !yes && !output.IsTerminal(cmd.InOrStdin()) {
				fault = errors.Join(fault, errors.New("--yes: needed where there is no terminal to ask in, because a removed record cannot be restored"))
			}
			if err := flagFaults(cmd, fault, out.check()); err != nil {
				return err
			}
			return c.withJob(cmd, args[0], func(ctx context.Context, a *client, job *jobs.Job) error {
				return c.forgetJob(ctx, a, job, args[0], who, yes, out)
			})
		},
		ValidArgsFunction: c.completeLeftOver,
	}
	askFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove it without asking")
	actFlags(cmd, &act)
	out.flag(cmd)
	return cmd
}

func (c *cli) forgetJob(
	ctx context.Context, a *client, job *jobs.Job, name string, act fleet.Act, yes bool, out format,
) error {
	found, err := a.ask.Forgettable(ctx, name)
	if err != nil {
		return a.explain(name, err)
	}
	if !yes {
		question := fmt.Sprintf("Remove the record of %s with %s, for good?", name, output.Count(found.Outcomes, "outcome"))
		if ok, err := confirm(ctx, a.cmd.InOrStdin(), c.stderr, question); err != nil || !ok {
			return errors.Join(errors.New("nothing was removed"), err)
		}
	}
	done, err := a.ask.Forget(ctx, name, act)
	if err != nil {
		return a.explain(name, err)
	}
	if out == asJSON {
		return writeJSON(c.stdout, forgotten{name, done.Watermark, done.Outcomes, done.By})
	}
	if _, err = fmt.Fprintf(c.stdout, "%s is forgotten: its record and %s are removed\n", name, output.Count(done.Outcomes, "outcome")); err != nil {
		return err
	}
	if job != nil && a.worker == nil {
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
	facts, err := a.fleet.FleetFacts(ctx)
	if err != nil {
		return ""
	}
	for _, f := range facts {
		if f.Kind == wire.FactForgotten && f.Job == name {
			return fmt.Sprintf("; %s has removed its record at %s%s", f.By, output.Time(f.At, time.UTC), quoted(f.Reason))
		}
	}
	return ""
}
