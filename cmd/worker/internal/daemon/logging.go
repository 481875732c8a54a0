package daemon

import (
	"io"
	"log/slog"

	"github.com/lmittmann/tint"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/scheduler"
)

// newLogger returns a logger to w: with colours in a terminal, unless NO_COLOR is set in the
// environment.
func newLogger(w io.Writer, format string, level slog.Leveler, env func(string) (string, bool)) *slog.Logger {
	return loggerFor(w, w, format, level, env)
}

// loggerFor returns a logger to w, in the format that suits shown, where its lines end up.
func loggerFor(w, shown io.Writer, format string, level slog.Leveler, env func(string) (string, bool)) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: inText}))
	}
	if output.IsTerminal(shown) {
		value, _ := env("NO_COLOR")
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: value != ""}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// inText formats times and durations in JSON as in text: times in UTC to the millisecond, and
// durations with a unit instead of nanoseconds.
func inText(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
	case slog.KindTime:
		a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	default:
	}
	return a
}

// logEvents logs the scheduler's events, with hints that name the configuration's keys.
func logEvents(s *stores.Store, logger *slog.Logger) func(scheduler.Event) {
	log := scheduler.LogEvents(logger)
	return func(e scheduler.Event) {
		if down, ok := e.(scheduler.StoreChanged); ok && !down.Up {
			down.Hint = s.Advice(down.Err)
			e = down
		}
		log(e)
	}
}
