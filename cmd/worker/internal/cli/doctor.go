package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/internal/render"
)

func (c *cli) doctor() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the store and the fleet, and say what to change",
		Long: "doctor checks the configured store. Of a SQLite file it checks that it can be read and written to, and the room on\n" +
			"its disk. Of Redis it checks each server of a Cluster or a quorum, and Sentinels with their primary. It checks that\n" +
			"each answers, and how fast, and its version, mode and role. It checks that each evicts no records and has free\n" +
			"memory, and what a restart or a failover loses. It checks this machine's clock, and the permissions of its user, on\n" +
			"a record that doctor removes again. Then it checks the live replicas: heartbeats, duplicate ids, versions, and\n" +
			"Redis's clock and their own. It finds jobs that they define differently, that are overdue or that no replica\n" +
			"serves, and replicas without this configuration. It exits with 1 if any check fails. With --server a worker does\n" +
			"this, but for the permissions, and its answer is a minute old at most.",
		Example: `  worker doctor --config solotick.yaml
  worker doctor --redis redis://localhost:6379/0 --output json
  worker doctor --server http://worker-1:8080`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			x, err := c.examine(cmd)
			if err != nil {
				return err
			}
			if out == asJSON {
				err = writeJSON(c.stdout, x)
			} else {
				err = c.printExamination(x)
			}
			if err != nil || x.OK {
				return err
			}
			store := x.Store
			if x.Redis != "" {
				store = "Redis at " + x.Redis
			}
			return fmt.Errorf("%s failed, of %s and the fleet", render.Count(x.Failed(), "check"), store)
		},
	}
	askFlags(cmd)
	out.flag(cmd)
	return cmd
}

// examine checks the configured fleet, or with --server asks a worker for what it has found.
func (c *cli) examine(cmd *cobra.Command) (doctor.Report, error) {
	if cmd.Flags().Changed("server") {
		a, err := c.connect(cmd)
		if err != nil {
			return doctor.Report{}, err
		}
		defer a.close()
		var x doctor.Report
		err = a.worker.Doctor(cmd.Context(), &x)
		return x, err
	}
	if cmd.Flags().Changed("token-file") {
		return doctor.Report{}, &usageError{errTokenFile, cmd}
	}
	cfg, err := c.loadForFleet(cmd)
	if err != nil {
		return doctor.Report{}, err
	}
	registry, err := c.check(cfg)
	if err != nil {
		return doctor.Report{}, err
	}
	return doctor.Examine(cmd.Context(), cfg, registry.All())
}

func (c *cli) printExamination(x doctor.Report) error {
	styles := map[doctor.Result]render.Style{doctor.OK: render.Green, doctor.Warn: render.Yellow, doctor.Fail: render.Red, doctor.Unchecked: render.Cyan}
	several := slices.ContainsFunc(x.Checks, func(f doctor.Finding) bool { return f.Server != "" })
	heads := []string{"CHECK", "RESULT", "FINDING"}
	if several {
		heads = []string{"CHECK", "SERVER", "RESULT", "FINDING"}
	}
	t := render.NewTable(heads...)
	for _, f := range x.Checks {
		cells := render.Row(f.Check, string(f.Result), f.Finding)
		cells[1].Style = styles[f.Result]
		if several {
			cells = slices.Insert(cells, 1, render.Cell{Text: f.Server})
		}
		t.Add(cells...)
	}
	v := output.NewView(c.stdout, c.env)
	v.Human = false // a finding is shown in full
	text := strings.SplitAfter(t.Text(v), "\n")
	var b strings.Builder
	b.WriteString(text[0])
	for i, f := range x.Checks {
		b.WriteString(text[i+1])
		if f.Change != "" {
			fmt.Fprintf(&b, "  %s %s\n", render.Paint("change:", render.Bold, v.Colours), render.Line(f.Change))
		}
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}
