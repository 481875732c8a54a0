package solocron

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// WithLogger logs to a Logger of robfig/cron. It gets robfig's words for what jobs do here: start,
// schedule, run, added, removed, stop. It gets the warnings and errors of package solotick as
// errors. The default is the slog.Logger of WithOptions, or slog.Default().
func WithLogger(logger Logger) Option { return func(s *settings) { s.logger = logger } }

// handler hands warnings and errors to a Logger.
type handler struct {
	logger Logger
	values []any // keys and values of WithAttrs
}

// Enabled implements slog.Handler.
func (h handler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler. A record without an error is one itself.
func (h handler) Handle(_ context.Context, r slog.Record) error {
	message, err, values := strings.ToLower(r.Level.String()), errors.New(r.Message), slices.Clip(h.values)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			message, err = r.Message, fmt.Errorf("%v", a.Value)
		} else {
			values = append(values, a.Key, a.Value.Any())
		}
		return true
	})
	h.logger.Error(err, message, values...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	values := slices.Clip(h.values)
	for _, a := range attrs {
		values = append(values, a.Key, a.Value.Any())
	}
	return handler{h.logger, values}
}

// WithGroup implements slog.Handler. Package solotick has no groups.
func (h handler) WithGroup(string) slog.Handler { return h }
