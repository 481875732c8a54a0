package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/remote"
	"github.com/solotick/solotick/config"
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
