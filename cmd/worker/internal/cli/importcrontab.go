package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/crontab"
	"github.com/solotick/solotick/internal/render"
)

func (c *cli) imports() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "import COMMAND",
		Short:   "Make a configuration of another program's",
		Example: "  worker import crontab /etc/cron.d/billing --system > solotick.yaml",
		Args:    knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &usageError{errors.New("which command of import?"), cmd}
		},
	}
	cmd.AddCommand(c.importCrontab())
	return cmd
}

func (c *cli) importCrontab() *cobra.Command {
	var o crontab.Options
	cmd := &cobra.Command{
		Use:   "crontab FILE",
		Short: "Print a configuration with the jobs of a crontab",
		Long: "import crontab prints a configuration with a job for each line of a crontab, which a shell runs as cron does, with the\n" +
			"crontab's variables. Names come from the commands: change them before the first run, not later. What a job does not do\n" +
			"as cron did goes to stderr, and so do lines that make no job: then the exit code is 1. FILE may be -, which is stdin.\n\n" +
			"Cron starts a run beside an earlier one that still runs, and forgets what was due while it was down. These jobs skip\n" +
			"the one, and catch up the newest of the other: see overlap and misfire.",
		Example: `  worker import crontab /etc/cron.d/billing --system > solotick.yaml
  crontab -l | worker import crontab - --timezone Europe/Berlin > solotick.yaml
  worker validate --config solotick.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("import crontab takes one file, and got %s", render.Count(len(args), "argument")), cmd}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&o.System, "system", false, "each line names a user before the command, as in /etc/crontab and /etc/cron.d")
	cmd.Flags().StringVar(&o.Timezone, "timezone", "", "`ZONE` of the schedules without a CRON_TZ (default: that of this machine)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Timezone == "" {
			o.Timezone = machineZone(c.env)
		}
		if _, err := time.LoadLocation(o.Timezone); err != nil {
			return flagFaults(cmd, fmt.Errorf("--timezone: %q must be a name of the IANA time zone database, such as Europe/Berlin", o.Timezone))
		}
		return c.readCrontab(args[0], o)
	}
	return cmd
}

func (c *cli) readCrontab(name string, o crontab.Options) error {
	var from io.Reader = os.Stdin
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the file that the user names
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // was only read
		from = file
	}
	r, err := crontab.Read(from, o)
	if err != nil {
		return err
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(c.stderr, render.Line(w))
	}
	for _, f := range r.Faults {
		fmt.Fprintln(c.stderr, render.Line(f))
	}
	if len(r.Jobs) > 0 {
		if err := r.Write(c.stdout); err != nil {
			return err
		}
	}
	if len(r.Faults) > 0 || len(r.Jobs) == 0 {
		return fmt.Errorf("%s: %s imported, %s not", name, render.Count(len(r.Jobs), "job"), render.Count(len(r.Faults), "line"))
	}
	return nil
}

// machineZone returns the name of the machine's time zone, "UTC" where it has none.
func machineZone(env func(string) (string, bool)) string {
	zone, _ := env("TZ")
	if zone = strings.TrimPrefix(zone, ":"); zone == "" {
		target, err := filepath.EvalSymlinks("/etc/localtime")
		if _, name, found := strings.Cut(target, "/zoneinfo/"); err == nil && found {
			zone = name
		}
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "" {
		return "UTC"
	}
	return zone
}
