package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/remote"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// fleetFlags adds the flags that name the fleet.
func fleetFlags(cmd *cobra.Command) {
	for _, o := range overrides {
		if o.flag == "store" || o.flag == "redis" || o.flag == "namespace" {
			cmd.Flags().String(o.flag, "", o.usage)
		}
	}
}

// jobArgument accepts one argument: a job.
func jobArgument(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{fmt.Errorf("%s takes the name of one job, and got %s", cmd.Name(), render.Count(len(args), "argument")), cmd}
}

// flagFaults returns an error of the command line with the faults of its flags.
func flagFaults(cmd *cobra.Command, faults ...error) error {
	if err := errors.Join(faults...); err != nil {
		return &usageError{err, cmd}
	}
	return nil
}

// checkCount returns the fault of a -n that is out of range.
func checkCount(count, limit int) error {
	if count < 1 || count > limit {
		return fmt.Errorf("-n: %d must be from 1 to %d", count, limit)
	}
	return nil
}

// jobAndTick accepts a job, and optionally one of its ticks.
func jobAndTick(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return &usageError{fmt.Errorf("%s takes the name of a job and an optional tick, and got %s", cmd.Name(), render.Count(len(args), "argument")), cmd}
}

// actFlags adds the flags that say who asks for something, and why.
func actFlags(cmd *cobra.Command, act *fleet.Act) {
	cmd.Flags().StringVar(&act.By, "by", "", "`NAME` of the caller, for history and audit (default: user and host)")
	cmd.Flags().StringVar(&act.Reason, "reason", "", "`TEXT`: why, for why and audit")
}

// act completes what the flags say.
func (c *cli) act(act fleet.Act) (fleet.Act, error) {
	by, err := c.by(act.By)
	if len(act.Reason) > protocol.MaxReason {
		err = errors.Join(err, fmt.Errorf("--reason: has %d bytes, must have at most %d", len(act.Reason), protocol.MaxReason))
	}
	return fleet.Act{By: by, Reason: act.Reason, Via: wire.ViaCLI}, err
}

// by returns the caller: the value of --by, or else user and host.
func (c *cli) by(name string) (string, error) {
	if name != "" {
		if !naming.Valid(name) {
			return "", fmt.Errorf("--by: %q %s", name, naming.Rule)
		}
		return name, nil
	}
	who, _ := c.env("USER")
	if who == "" {
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
	}
	host, _ := os.Hostname()
	return caller(who, host), nil
}

// caller returns a name for a user on a host. Names cannot contain an at sign.
func caller(user, host string) string {
	clean := strings.Map(func(r rune) rune {
		if naming.Valid("x" + string(r)) {
			return r
		}
		return '-'
	}, cmp.Or(user, "somebody")+"-at-"+cmp.Or(host, "some-host"))
	clean = strings.TrimLeft(clean, "._-")
	return clean[:min(len(clean), 128)]
}

// askFlags adds the flags that name the fleet, or a worker to ask in place of its store.
func askFlags(cmd *cobra.Command) {
	fleetFlags(cmd)
	cmd.Flags().String("server", "", "`URL` of a worker to ask in place of the store; no configuration is read then")
	cmd.Flags().String("token-file", "", "`FILE` with the token for --server (default: SOLOTICK_TOKEN)")
}

// connectServer makes a client of a worker. It asks for the namespace, and so finds out whether the
// worker answers.
func (c *cli) connectServer(cmd *cobra.Command, server string) (*client, error) {
	var faults []error
	for _, name := range []string{"store", "redis", "namespace", "config", "by"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			rule := "does not go with --server"
			if name == "by" {
				rule += ": the token says who asks"
			}
			faults = append(faults, fmt.Errorf("--%s: %s", name, rule))
		}
	}
	token, err := c.serverToken(cmd)
	faults = append(faults, err)
	worker, err := remote.New(server, token)
	faults = append(faults, err)
	if err := flagFaults(cmd, faults...); err != nil {
		return nil, err
	}
	a := &client{cfg: config.Default(), registry: new(jobs.Registry), cmd: cmd, ask: worker, worker: worker}
	if a.namespace, _, err = worker.Namespace(cmd.Context()); err != nil {
		worker.Close()
		return nil, err
	}
	return a, nil
}

// serverToken returns the token for --server; "" for none.
func (c *cli) serverToken(cmd *cobra.Command) (string, error) {
	file := cmd.Flags().Lookup("token-file").Value.String()
	if file == "" {
		token, _ := c.env("SOLOTICK_TOKEN")
		return strings.TrimSpace(token), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("--token-file: %s must hold one token", file)
	}
	return token, nil
}
