package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
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
			surviveBrokenPipes()
			hangups := catchHangups() // before anything else, for one may come at any time
			from, err := c.origin(cmd, hangups)
			if err != nil {
				return err
			}
			cfg := *from.loaded
			if cfg.Replica == "" {
				host, _ := os.Hostname() // there are other ways to tell replicas apart
				cfg.Replica = replicaID(host)
			}
			shown := c.stderr
			c.log = newLogWriter(shown, func(w io.Writer) *slog.Logger {
				return loggerFor(w, shown, cfg.Log.Format, slog.LevelWarn, c.env)
			})
			c.stderr = c.log // for what is reported at the end, too
			logger := loggerFor(c.log, shown, cfg.Log.Format, from.level, c.env)
			ctx, stop := untilSignalled(cmd.Context(), logger, func(code int) {
				c.log.flush(hurriedFlush)
				os.Exit(code)
			})
			defer stop()
			return runReplica(ctx, &cfg, from, logger, c.log)
		},
	}
	for _, o := range overrides {
		cmd.Flags().String(o.flag, "", o.usage)
	}
	return cmd
}
