package main

import (
	"context"
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
	"github.com/solotick/solotick/cmd/worker/internal/tracing"
	"github.com/solotick/solotick/contrib/otelsolotick"
	"github.com/solotick/solotick/jobs"
)

// provider exports a span of each attempt that a worker runs, by OTLP over HTTP.
type provider struct{ *sdktrace.TracerProvider }

// newExporter makes the provider of spans. The error is an *exitcode.ConfigError.
func newExporter(o tracing.Options) (tracing.Provider, error) {
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
	return provider{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(otelsolotick.NewIDGenerator()),
	)}, nil
}

// Wrapper implements [tracing.Provider].
func (p provider) Wrapper() func(next jobs.Handler) jobs.Handler {
	return otelsolotick.Wrapper(p.TracerProvider)
}

// shutdownTimeout bounds how long a stop waits for the last spans.
const shutdownTimeout = 3 * time.Second

// Close exports the spans that are left, for 3 s at most. Its failures are logged: spans that get
// lost are no failure of the worker.
func (p provider) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// faults logs errors of the exporter, at most one a minute.
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
