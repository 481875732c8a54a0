package otelsolotick

import (
	"context"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/solotick/solotick/internal/spans"
	"github.com/solotick/solotick/jobs"
)

// Wrapper returns what makes a span of each attempt, for scheduler.WithWrappers. Put it first, so
// that the spans of other wrappers are inside it. A nil provider is none: nothing is traced.
func Wrapper(provider trace.TracerProvider) func(next jobs.Handler) jobs.Handler {
	return spans.Wrapper(provider)
}

// NewIDGenerator returns the generator by which the attempts of a tick are one trace, for
// sdktrace.WithIDGenerator. The ids of all other spans are random.
func NewIDGenerator() sdktrace.IDGenerator { return spans.NewIDGenerator() }

// Triggered adds a span to the trace of a tick that was triggered. It links to the caller's span,
// which is that of ctx, and the first attempt follows from it. Call it with the tick that
// fleet.Fleet.Trigger has returned, but not with one that an earlier trigger got: its span has the
// same id.
func Triggered(ctx context.Context, provider trace.TracerProvider, namespace, job string, tick time.Time) {
	spans.Triggered(ctx, provider, namespace, job, tick)
}
