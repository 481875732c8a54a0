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
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/fleet"
)

// forgotten is the JSON output of forget. Times are RFC 3339 in UTC.
type forgotten struct {
	Job       string    `json:"job"`
	Watermark time.Time `json:"watermark"`
	Outcomes  int       `json:"outcomes"` // how many its history had
	By        string    `json:"by"`
}

func (c *cli) forget() *cobra.Command {
	var by string
	var yes bool
	var out format
	cmd := &cobra.Command{
		Use:   "forget JOB",
		Short: "Remove what the fleet keeps of a job that is gone",
		Long: "forget removes the record of a job that no replica serves any more, which status shows as left over: with it go its\n" +
			"history, its pause and its triggers. It is refused while a live replica serves the job, or a tick of it is open:\n" +
			"cancel that first. A replica that gets the job later begins as with a new job, and catches up nothing. In a terminal\n" +
			"it asks before it removes anything; elsewhere it needs --yes. The fleet's journal keeps who did it.",
		Example: `  worker forget old-report --config solotick.yaml
  worker forget old-report --yes --by ops1`,
		Args: jobArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			who, fault := c.by(by)
			if !yes && !output.IsTerminal(cmd.InOrStdin()) {
				fault = errors.Join(fault, errors.New("--yes: needed where there is no terminal to ask in, for what is removed cannot be brought back"))
			}
			if err := flagFaults(cmd, fault, out.check()); err != nil {
				return err
			}
			a, err := c.connect(cmd)
			if err != nil {
				return err
			}
			defer a.close()
			return c.forgetJob(a, args[0], who, yes, out)
		},
		ValidArgsFunction: c.completeLeftOver,
	}
	whereFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove it without asking")
	c.byFlag(cmd, &by)
	out.flag(cmd)
	return cmd
}

func (c *cli) forgetJob(a *client, name, by string, yes bool, out format) error {
	ctx := a.cmd.Context()
	job, err := a.findJob(ctx, name)
	if err != nil {
		return err
	}
	found, err := a.fleet.Forgettable(ctx, name)
	if err != nil {
		return a.explain(name, err)
	}
	if !yes {
		question := fmt.Sprintf("Remove the record of %s with %s, for good?", name, output.Count(found.Outcomes, "outcome"))
		if ok, err := confirm(ctx, a.cmd.InOrStdin(), c.stderr, question); err != nil || !ok {
			return errors.Join(errors.New("nothing was removed"), err)
		}
	}
	done, err := a.fleet.Forget(ctx, name, by)
	if err != nil {
		return a.explain(name, err)
	}
	if out == asJSON {
		return writeJSON(c.stdout, forgotten{name, done.Watermark, done.Outcomes, by})
	}
	if _, err = fmt.Fprintf(c.stdout, "%s is forgotten: its record and %s are removed\n", name, output.Count(done.Outcomes, "outcome")); err != nil {
		return err
	}
	if job != nil {
		fmt.Fprintln(c.stderr, "this configuration has the job: a replica that starts with it makes a new record")
	}
	return nil
}

// confirm asks a question that only yes, or y, agrees to. The answer is waited for until ctx ends.
func confirm(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	if _, err := fmt.Fprint(out, question+" [y/N] "); err != nil {
		return false, err
	}
	lines := make(chan string, 1)
	go func() { // ends with the process where nobody answers
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

// completeLeftOver completes the names of the jobs that forget is for.
func (c *cli) completeLeftOver(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const plainly = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, plainly
	}
	a, err := c.connect(cmd)
	if err != nil {
		return nil, plainly
	}
	defer a.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), stores.CommandTimeout)
	defer cancel()
	s, err := a.fleet.Status(ctx, a.jobs())
	if err != nil {
		return nil, plainly
	}
	var names []string
	for _, j := range s.Jobs {
		if j.LeftOver() {
			names = append(names, j.Name)
		}
	}
	return names, plainly
}

// whoForgot says of a job that nobody knows that somebody has removed its record; empty where
// nobody has.
func (a *client) whoForgot(ctx context.Context, name string) string {
	facts, err := a.fleet.FleetFacts(ctx)
	if err != nil {
		return ""
	}
	for _, f := range facts {
		if f.Kind == fleet.FactForgotten && f.Job == name {
			return fmt.Sprintf("; %s has removed its record at %s", f.By, output.Time(f.At, time.UTC))
		}
	}
	return ""
}
