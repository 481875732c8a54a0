// Package log is the kind of job that writes one log line: the smallest one that shows who ran
// which tick.
package log

import (
	"context"
	"log/slog"

	"github.com/solotick/solotick/jobs"
)

// New returns a handler that logs message at level info, with the attributes job, tick, replica,
// token and attempt, and key if the run has one. A nil logger means [slog.Default]. The handler fails only when its context has
// ended before it could log.
func New(logger *slog.Logger, message string) jobs.Handler {
	if logger == nil {
		logger = slog.Default()
	}
	return func(ctx context.Context, run jobs.Run) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		attrs := []slog.Attr{
			slog.String("job", run.Job),
			slog.Time("tick", run.Tick),
			slog.String("replica", run.Replica),
			slog.Int64("token", run.Token),
			slog.Int("attempt", run.Attempt),
		}
		if run.Key != "" {
			attrs = append(attrs, slog.String("key", run.Key))
		}
		logger.LogAttrs(ctx, slog.LevelInfo, message, attrs...) //nolint:sloglint // the job exists for the message
		return nil
	}
}
