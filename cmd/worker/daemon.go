// Package daemon runs a replica: the scheduler with its store, its HTTP endpoints, its log, and the reloads of its configuration.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/solotick/solotick/config"
)

// guardCommand is the argument that makes this program the guard of exec jobs.
const guardCommand = "guard"

// options are the parameters of a worker. All are required.
type options struct {
	file    *configFile
	hangups <-chan os.Signal // of catchSignals
	stderr  io.Writer        // for the log
	env     func(string) (string, bool)
	version string
}

// worker is a replica whose configuration is loaded.
type worker struct {
	options options
	cfg     *config.Config
	from    *source
	log     *logWriter
	logger  *slog.Logger
}

// loadWorker reads the configuration and prepares the log. Errors are those of [configFile.load].
func loadWorker(o options) (*worker, error) {
	from, err := loadSource(o.file, o.hangups)
	if err != nil {
		return nil, err
	}
	cfg := *from.loaded
	if cfg.Replica == "" {
		host, _ := os.Hostname() // without a name, the random part of the id is enough
		cfg.Replica = replicaID(host)
	}
	log := newLogWriter(o.stderr, func(w io.Writer) *slog.Logger {
		return loggerFor(w, o.stderr, cfg.Log.Format, slog.LevelWarn, o.env)
	})
	return &worker{
		options: o, cfg: &cfg, from: from, log: log,
		logger: loggerFor(log, o.stderr, cfg.Log.Format, from.level, o.env),
	}, nil
}

// logOutput returns the writer of the log. Its writes do not block; the caller flushes it at the end of the program.
func (w *worker) logOutput() *logWriter { return w.log }

// run runs the replica until ctx ends, or SIGTERM or SIGINT arrives. At a second signal it ends the process.
func (w *worker) run(ctx context.Context) error {
	ctx, stop := untilSignalled(ctx, w.logger, func(code int) {
		w.log.flush(hurriedFlush)
		os.Exit(code)
	})
	defer stop()
	return w.runReplica(ctx)
}
