package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/remote"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
)

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
	for _, name := range []string{"redis", "namespace", "config", "by"} {
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

// remoteJob returns what the worker says of a job, as far as times need it: its schedule and time
// zone. It returns nil where these are not known, and an error of the command line for a name that
// is not.
func (a *client) remoteJob(ctx context.Context, name string) (*jobs.Job, error) {
	if !naming.Valid(name) {
		return nil, &usageError{fmt.Errorf("%q %s", name, naming.Rule), a.cmd}
	}
	s, err := a.worker.Status(ctx, nil, name)
	if p, ok := errors.AsType[*remote.Problem](err); ok && p.Status == http.StatusNotFound {
		return nil, &usageError{p, a.cmd}
	}
	if err != nil {
		return nil, err
	}
	spec := jobs.Defaults()
	j := s.Jobs[0]
	spec.Name, spec.Schedule, spec.Timezone, spec.Leader, spec.Paused = name, j.Schedule, j.Timezone, j.Spec.Leader, j.Spec.Paused
	if spec.Leader {
		spec.Schedule = ""
	}
	job, err := jobs.FromSpec(spec, func(context.Context, jobs.Run) error { return nil })
	if err != nil {
		return nil, nil //nolint:nilerr // this program does not understand the schedule: times are in UTC
	}
	return job, nil
}
