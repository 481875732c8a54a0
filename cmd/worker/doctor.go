package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
)

// finding is what doctor has found out about one thing.
type finding struct {
	Check   string `json:"check"`
	Server  string `json:"server,omitempty"` // which it is about, where there are several
	Result  grade  `json:"result"`
	Finding string `json:"finding"`
	Change  string `json:"change"` // what to do about it; empty when there is nothing to do

	refused error // why a replica cannot work at all; nil when it can
}

// grade is how a check has ended.
type grade string

const (
	isOK      grade = "ok"
	isWarn    grade = "warn"      // it works, and may not in trouble
	isFail    grade = "fail"      // it does not work, or will lose ticks
	isUnknown grade = "unchecked" // the user of redis may not ask
)

// examination is what doctor prints as JSON.
type examination struct {
	Redis     string    `json:"redis"`
	Namespace string    `json:"namespace"`
	OK        bool      `json:"ok"` // nothing has failed
	Checks    []finding `json:"checks"`
}

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
			plain := *cfg // what it tries has to work whatever becomes of failovers
			plain.Redis.WaitReplicas, plain.Redis.FailoverGrace = 0, 0
			s, err := openStore(&plain, commandTimeout, slog.New(slog.DiscardHandler), func(int) {})
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			ctx, cancel := context.WithTimeout(cmd.Context(), longestExamination)
			defer cancel()
			x := examine(ctx, s, cfg, registry.All())
			if out == asJSON {
				err = c.printJSON(x)
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

const longestExamination = 30 * time.Second

// examine does every check that makes sense.
func examine(ctx context.Context, s *store, cfg *config.Config, configured []*jobs.Job) examination {
	x := examination{Redis: s.addr, Namespace: cfg.Namespace}
	x.Checks = survey(ctx, s, cfg)
	if answers(x.Checks) {
		x.Checks = append(x.Checks, newPatient(s, cfg, s.streams, "").rights(ctx)...)
		x.Checks = append(x.Checks, examineFleet(ctx, s, configured)...)
	}
	x.OK = x.failed() == 0
	return x
}

// answers reports whether enough was found for the store to be tried.
func answers(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.Check == "clock" })
}

func (x examination) failed() int {
	n := 0
	for _, f := range x.Checks {
		if f.Result == isFail {
			n++
		}
	}
	return n
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
		cells := []cell{{f.Check, plain}, {string(f.Result), styles[f.Result]}, {f.Finding, plain}}
		if several {
			cells = slices.Insert(cells, 1, cell{f.Server, plain})
		}
		t.add(cells...)
	}
	colours := c.colours(c.stdout)
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
