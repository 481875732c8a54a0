// Package cli is the command line of the worker: one file for each command, and the code that
// commands share.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/daemon"
	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
)

// Main runs the command that args name until it ends or ctx ends, and returns the exit code. It
// prints results to stdout, and logs, warnings and errors to stderr. env looks up a variable of the
// environment, as [os.LookupEnv] does.
func Main(ctx context.Context, version string, args []string, stdout, stderr io.Writer, env func(string) (string, bool)) int {
	c := &cli{version: versionOf(version), stdout: stdout, stderr: stderr, env: env}
	root := c.root()
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for the arguments of the process
	root.SetOut(stdout)
	root.SetErr(stderr)
	code := c.report(root.ExecuteContext(ctx))
	if c.log != nil {
		c.log.Flush(daemon.FlushTimeout)
	}
	return code
}

// Command returns the command line, for its man pages and the scripts that complete it.
func Command(version string) *cobra.Command {
	c := &cli{version: versionOf(version), stdout: io.Discard, stderr: io.Discard, env: func(string) (string, bool) { return "", false }}
	root := c.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// cli is the state that all commands share.
type cli struct {
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	version        string
	file           string            // --config
	log            *daemon.LogWriter // stderr while a replica runs; else nil
}

// usageError is an error of the command line. The program prints how to get help.
type usageError struct {
	err     error
	command *cobra.Command
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Runs scheduled jobs, each tick on one replica of a fleet",
		Long: "worker runs the jobs of a configuration file. Start any number of workers with the same file and the same Redis.\n" +
			"One of them runs each tick of each job, and another one takes the tick over if that worker dies.",
		Example: `  worker run --config examples/quickstart.yaml
  worker validate --config solotick.yaml
  worker next --config solotick.yaml -n 3
  worker status
  worker why nightly-report`,
		Version:       c.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{errors.New("which command?"), cmd}
		},
		SuggestionsMinimumDistance: 2,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{err, cmd} })
	root.PersistentFlags().StringVar(&c.file, "config", "", "configuration `FILE` (default: "+defaultFile+" where there is one)")
	schedules := c.schedules()
	root.AddCommand(
		c.run(), c.validate(), c.next(), c.status(), c.describe(), c.history(), c.why(), c.trigger(), c.runAgain(), c.cancel(), c.pause(), c.resume(), c.repair(), c.forget(), c.audit(), schedules, c.notify(), c.doctor(), c.schema(), c.imports(),
		c.versionCommand(),
	)
	for _, cmd := range slices.Concat(root.Commands(), schedules.Commands()) {
		if cmd.ValidArgsFunction != nil {
			continue
		}
		if strings.Contains(cmd.Use, " JOB") || strings.Contains(cmd.Use, "[JOB") {
			cmd.ValidArgsFunction = c.completeJob
		}
	}
	return root
}

func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return &usageError{errors.New(text), cmd}
}

// noArguments refuses arguments. Its error names --config, which a file as an argument probably
// means.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("%q: %s takes no arguments; name the configuration with --config FILE", args[0], cmd.Name()), cmd}
}

// report prints err and returns its exit code.
func (c *cli) report(err error) int {
	if err == nil {
		return exitcode.Done
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(c.stderr, "worker: %v\n\n", err)
		if usage.command.HasParent() {
			fmt.Fprintf(c.stderr, "Run '%s --help' for its arguments and flags.\n", usage.command.CommandPath())
		} else {
			fmt.Fprint(c.stderr, usage.command.UsageString())
		}
		return exitcode.Usage
	}
	if _, ok := errors.AsType[*exitcode.ConfigError](err); ok {
		fmt.Fprintln(c.stderr, err) // each line names its file
		return exitcode.Usage
	}
	fmt.Fprintf(c.stderr, "worker: %v\n", err)
	return exitcode.Failed
}
