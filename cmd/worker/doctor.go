package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) doctor() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the Redis that coordinates the fleet, and the fleet, and say what to change",
		Long: "doctor checks what the configuration names, each server of a Cluster or a quorum, Sentinels and the primary that they\n" +
			"name: that it answers, and how fast; its version, mode and role; that it does not evict records, and has memory left;\n" +
			"what a restart or a failover loses; this machine's clock; and whether its user may do all that a replica does, with a\n" +
			"record of its own that it removes again. Then it looks at the live replicas: heartbeats, ids that several processes\n" +
			"use, Redis's clock as they see it and their own, versions, jobs that they define differently, jobs that none serves and\n" +
			"overdue ones, and whether they have the configuration that doctor reads. It exits with 1 if any check fails.",
		Example: `  worker doctor --config solotick.yaml
  worker doctor --redis redis://localhost:6379/0 --output json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagFaults(cmd, out.check()); err != nil {
				return err
			}
			cfg, err := c.loadWithRedis(cmd)
			if err != nil {
				return err
			}
			registry, err := c.check(cfg)
			if err != nil {
				return err
			}
			x, err := examine(cmd.Context(), cfg, registry.All())
			if err != nil {
				return err
			}
			if out == asJSON {
				err = printJSON(c.stdout, x)
			} else {
				err = c.printExamination(x)
			}
			if err != nil || x.OK {
				return err
			}
			return fmt.Errorf("%s failed, of Redis at %s and the fleet", counted(x.failed(), "check"), x.Redis)
		},
	}
	whereFlags(cmd)
	out.flag(cmd)
	return cmd
}

func (c *cli) printExamination(x examination) error {
	styles := map[grade]style{isOK: green, isWarn: yellow, isFail: red, isUnknown: cyan}
	several := slices.ContainsFunc(x.Checks, func(f finding) bool { return f.Server != "" })
	heads := []string{"CHECK", "RESULT", "FINDING"}
	if several {
		heads = []string{"CHECK", "SERVER", "RESULT", "FINDING"}
	}
	t := newTable(heads...)
	for _, f := range x.Checks {
		cells := textRow(f.Check, string(f.Result), f.Finding)
		cells[1].style = styles[f.Result]
		if several {
			cells = slices.Insert(cells, 1, cell{text: f.Server})
		}
		t.add(cells...)
	}
	colours := wantsColours(c.stdout, c.env)
	text := strings.SplitAfter(t.text(colours), "\n")
	var b strings.Builder
	b.WriteString(text[0])
	for i, f := range x.Checks {
		b.WriteString(text[i+1])
		if f.Change != "" {
			fmt.Fprintf(&b, "  %s %s\n", paint("change:", bold, colours), oneLine(f.Change))
		}
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}
