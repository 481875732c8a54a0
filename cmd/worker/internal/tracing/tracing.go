// Package tracing exports a span of each attempt that a worker runs, by OTLP over HTTP.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/internal/settings"
	"github.com/solotick/solotick/internal/spans"
	"github.com/solotick/solotick/jobs"
)

// Options are what a provider of spans is made from. All are required but Endpoint.
type Options struct {
	settings.Tracing
	Env                         func(string) (string, bool)
	Namespace, Replica, Version string
	Logger                      *slog.Logger
}

// Provider makes spans and exports them in the background. A nil Provider traces nothing.
type Provider struct{ *sdktrace.TracerProvider }

// New makes the provider that the configuration and the standard OTEL_ variables of the environment
// ask for; nil where they ask for none. The error is an *exitcode.ConfigError.
func New(o Options) (*Provider, error) {
	exports, err := wanted(o)
	if err != nil || !exports {
		return nil, err
	}
	var options []otlptracehttp.Option
	if o.Endpoint != "" { // as of OTEL_EXPORTER_OTLP_ENDPOINT, over which it wins
		options = append(options, otlptracehttp.WithEndpointURL(strings.TrimRight(o.Endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(context.Background(), options...) // it connects when there are spans
	if err != nil {
		return nil, &exitcode.ConfigError{Err: fmt.Errorf("tracing: %w", err)}
	}
	errs := &faults{logger: o.Logger}
	otel.SetErrorHandler(errs)
	about, err := resource.New(context.Background(), // what comes later wins
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
			attribute.String("service.name", "solotick"), attribute.String("service.namespace", o.Namespace),
			attribute.String("service.instance.id", o.Replica), attribute.String("service.version", o.Version),
		), resource.WithFromEnv())
	if err != nil {
		errs.Handle(err)
	}
	return &Provider{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(spans.NewIDGenerator()),
	)}, nil
}

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

// Wrapper returns what makes a span of each attempt.
func (p *Provider) Wrapper() func(next jobs.Handler) jobs.Handler {
	if p == nil {
		return spans.Wrapper(nil)
	}
	return spans.Wrapper(p.TracerProvider)
}

// shutdownTimeout bounds how long a stop waits for the last spans.
const shutdownTimeout = 3 * time.Second

// Close exports the spans that are left, for 3 s at most. Its failures are logged: spans that get
// lost are no failure of the worker.
func (p *Provider) Close(ctx context.Context) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// faults logs failures of exports, one a minute at most.
type faults struct {
	logger *slog.Logger

	mu   sync.Mutex
	last time.Time
}

const faultInterval = time.Minute

// Handle implements [otel.ErrorHandler].
func (f *faults) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.last.IsZero() || now.Sub(f.last) >= faultInterval {
		f.last = now
		f.logger.Warn("spans are not exported", slog.Any("error", err))
	}
}
