// Package tracing decides whether a worker exports a span of each attempt. The program brings the
// exporter.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
)

// Options are what a provider of spans is made from. All are required but Endpoint.
type Options struct {
	config.Tracing
	Env                         func(string) (string, bool)
	Namespace, Replica, Version string
	Logger                      *slog.Logger
}

// Provider makes spans and exports them in the background.
type Provider interface {
	// Wrapper returns what makes a span of each attempt.
	Wrapper() func(next jobs.Handler) jobs.Handler
	// Close exports the spans that are left. Its failures are logged.
	Close(ctx context.Context)
}

// Exporter creates the [Provider] of this program. It is nil if the program cannot export spans.
// main must set it before anything else.
var Exporter func(o Options) (Provider, error)

const missing = "this worker cannot export spans; use the worker of github.com/solotick/solotick/cmd/worker/full, which the image and the packages contain"

// Check returns an *exitcode.ConfigError if t asks for spans and this program cannot export them.
func Check(t config.Tracing) error {
	if t.Endpoint == "" || Exporter != nil {
		return nil
	}
	return &exitcode.ConfigError{Err: &config.Error{Field: "tracing.endpoint", Rule: missing}}
}

// New makes the provider that the configuration and the standard OTEL_ variables of the environment
// ask for. The error is an *exitcode.ConfigError.
func New(o Options) (Provider, error) {
	if err := Check(o.Tracing); err != nil {
		return nil, err
	}
	exports, err := wanted(o)
	if err != nil {
		return nil, err
	}
	if exports && Exporter != nil {
		return Exporter(o)
	}
	if exports { // by variables, which a platform may set for every process
		o.Logger.Warn("spans are not exported", slog.String("error", missing))
	}
	return none{}, nil
}

// none traces nothing.
type none struct{}

// Wrapper implements [Provider].
func (none) Wrapper() func(next jobs.Handler) jobs.Handler {
	return func(next jobs.Handler) jobs.Handler { return next }
}

// Close implements [Provider].
func (none) Close(context.Context) {}

// wanted reports whether spans are to be exported.
func wanted(o Options) (bool, error) {
	get := func(names ...string) string {
		for _, name := range names {
			if text, _ := o.Env(name); text != "" {
				return text
			}
		}
		return ""
	}
	exporter := get("OTEL_TRACES_EXPORTER")
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || exporter == "none" {
		return false, nil
	}
	if o.Endpoint == "" && exporter == "" && get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return false, nil
	}
	var wrong []error
	if exporter != "" && exporter != "otlp" {
		wrong = append(wrong, fmt.Errorf("OTEL_TRACES_EXPORTER: %q must be otlp or none", exporter))
	}
	if p := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		wrong = append(wrong, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q must be http/protobuf: name the port for HTTP, which most receivers have at 4318", p))
	}
	if err := errors.Join(wrong...); err != nil {
		return false, &exitcode.ConfigError{Err: err}
	}
	return true, nil
}
