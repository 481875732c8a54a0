package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // or wrong configuration
)

// cli is what all commands share.
type cli struct {
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	file           string     // --config
	log            *logWriter // what stderr is while a replica runs; nil otherwise
}

// usageError is a command line that makes no sense.
type usageError struct {
	err     error
	command *cobra.Command
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// configError is a configuration that cannot be used.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Runs scheduled jobs, each tick on one replica of a fleet",
		Long: "worker runs the jobs of a configuration file. Start as many as you like with the same file and the same Redis:\n" +
			"each tick of each job is run by one of them, and taken over by another if that one dies.",
		Example: `  worker run --config examples/quickstart.yaml
  worker validate --config solotick.yaml
  worker next --config solotick.yaml -n 3
  worker status
  worker why nightly-report`,
		Version:       programVersion(),
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
	root.AddCommand(
		c.run(), c.validate(), c.next(), c.status(), c.describe(), c.history(), c.why(), c.trigger(), c.cancel(), c.pause(), c.resume(), c.repair(), c.forget(), c.doctor(),
		versionCommand(),
	)
	for _, cmd := range root.Commands() {
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

// noArguments refuses arguments, and knows what those who give one may have meant.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &usageError{fmt.Errorf("%q: %s takes no arguments; name the configuration with --config FILE", args[0], cmd.Name()), cmd}
}

// report tells of err and returns the exit code that it means.
func (c *cli) report(err error) int {
	if err == nil {
		return exitDone
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(c.stderr, "worker: %v\n\n", err)
		if usage.command.HasParent() {
			fmt.Fprintf(c.stderr, "Run '%s --help' for what it takes.\n", usage.command.CommandPath())
		} else {
			fmt.Fprint(c.stderr, usage.command.UsageString())
		}
		return exitUsage
	}
	if _, ok := errors.AsType[*configError](err); ok {
		fmt.Fprintln(c.stderr, err) // every line says which file it is about
		return exitUsage
	}
	fmt.Fprintf(c.stderr, "worker: %v\n", err)
	return exitFailed
}
