// Package daemon runs a replica: the scheduler with its store, its HTTP endpoints, its log, and the
// reloads of its configuration.
package daemon

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/solotick/solotick/cmd/worker/internal/configfile"
	"github.com/solotick/solotick/config"
)

// SupervisorCommand is the argument that makes this program the supervisor of exec jobs.
const SupervisorCommand = "supervisor"

// Options are the parameters of a worker. All are required.
type Options struct {
	File    *configfile.File
	Hangups <-chan os.Signal // of CatchSignals
	Stderr  io.Writer        // for the log
	Env     func(string) (string, bool)
	Version string
}

// Worker is a replica whose configuration is loaded, and which does not run yet.
type Worker struct {
	options Options
	cfg     *config.Config
	from    *source
	log     *LogWriter
	logger  *slog.Logger
}

// Load reads the configuration and prepares the log. Errors are those of [configfile.File.Load].
func Load(o Options) (*Worker, error) {
	from, err := loadSource(o.File, o.Hangups)
	if err != nil {
		return nil, err
	}
	cfg := *from.loaded
	if cfg.Replica == "" {
		host, _ := os.Hostname() // without a name, the random part of the id is enough
		cfg.Replica = replicaID(host)
	}
	log := newLogWriter(o.Stderr, func(w io.Writer) *slog.Logger {
		return loggerFor(w, o.Stderr, cfg.Log.Format, slog.LevelWarn, o.Env)
	})
	return &Worker{
		options: o, cfg: &cfg, from: from, log: log,
		logger: loggerFor(log, o.Stderr, cfg.Log.Format, from.level, o.Env),
	}, nil
}

// LogOutput returns the writer of the log. Writes to it never block. The caller flushes it at the
// end of the program.
func (w *Worker) LogOutput() *LogWriter { return w.log }

// Run runs the replica until ctx ends, or SIGTERM or SIGINT arrives. At a second signal it ends the
// process.
func (w *Worker) Run(ctx context.Context) error {
	ctx, stop := untilSignalled(ctx, w.logger, func(code int) {
		w.log.Flush(hurriedFlush)
		os.Exit(code)
	})
	defer stop()
	return w.serve(ctx)
}
