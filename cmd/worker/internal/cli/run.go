package cli

import (
	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/daemon"
)

func (c *cli) run() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a replica until SIGTERM or SIGINT",
		Long: "run runs a replica. On SIGTERM or SIGINT it starts no more runs, lets runs finish within shutdown_grace, stops the\n" +
			"others and releases their ticks to other replicas at once. A second signal ends it without waiting.\n\n" +
			"On SIGHUP, and when the file changes, it reads the file again and updates its jobs. Jobs that did not change are not\n" +
			"disturbed. It refuses a wrong file as a whole. Of the other settings, only log.level changes without a restart.\n\n" +
			"It serves /metrics, /healthz and /readyz, and logs to standard error. It starts without Redis, and waits for it.\n" +
			"Without redis and store in the configuration it keeps its records in a file beside it.",
		Example: `  worker run --config examples/quickstart.yaml
  worker run --redis redis://localhost:6379/0 --http 127.0.0.1:0 --log-format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hangups := daemon.CatchSignals() // before anything else: a signal can arrive at any time
			file, err := c.configFile(cmd)
			if err != nil {
				return err
			}
			w, err := daemon.Load(daemon.Options{
				File: file, Hangups: hangups, Stderr: c.stderr, Env: c.env, Version: c.version,
			})
			if err != nil {
				return err
			}
			c.log = w.LogOutput()
			c.stderr = c.log // a reader that is stuck must not block the last error either
			return w.Run(cmd.Context())
		},
	}
	for _, o := range overrides {
		cmd.Flags().String(o.flag, "", o.usage)
	}
	return cmd
}
