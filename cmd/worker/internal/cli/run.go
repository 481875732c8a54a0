package cli

import (
	"github.com/spf13/cobra"

	"github.com/solotick/solotick/cmd/worker/internal/daemon"
)

func (c *cli) run() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a replica until SIGTERM or SIGINT",
		Long: "run runs a replica. On SIGTERM or SIGINT it starts nothing more, lets runs finish within shutdown_grace, stops\n" +
			"the others and gives their ticks to another replica at once. A second signal ends it without waiting.\n\n" +
			"On SIGHUP, and when the file changes, it reads the file anew and changes its jobs accordingly, without disturbing those\n" +
			"that are as they were. A file that is wrong is refused as a whole. Other settings need a restart, but for log.level.\n\n" +
			"It serves /metrics, /healthz and /readyz, and logs to standard error. It starts and waits when Redis is away.",
		Example: `  worker run --config examples/quickstart.yaml
  worker run --redis redis://localhost:6379/0 --http 127.0.0.1:0 --log-format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hangups := daemon.CatchSignals() // before anything else, for one may come at any time
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
			c.stderr = c.log // so that a reader that is stuck does not hold up the last error, either
			return w.Run(cmd.Context())
		},
	}
	for _, o := range overrides {
		cmd.Flags().String(o.flag, "", o.usage)
	}
	return cmd
}
