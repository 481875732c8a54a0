package otelsolotick_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/solotick/solotick/contrib/otelsolotick"
	"github.com/solotick/solotick/jobs"
)

// A scheduler gets the wrapper from scheduler.WithWrappers, and calls it for each attempt.
func ExampleWrapper() {
	spans := tracetest.NewInMemoryExporter() // a service has an exporter to its collector
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(otelsolotick.NewIDGenerator()))
	report := otelsolotick.Wrapper(provider)(func(_ context.Context, run jobs.Run) error {
		fmt.Println("a command gets TRACEPARENT:", run.Traceparent != "")
		return nil
	})
	for attempt := range 2 {
		if err := report(context.Background(), jobs.Run{Namespace: "billing", Job: "report", Attempt: attempt + 1}); err != nil {
			fmt.Println(err)
		}
	}
	first, second := spans.GetSpans()[0], spans.GetSpans()[1]
	fmt.Println(first.Name+", in one trace:", first.SpanContext.TraceID() == second.SpanContext.TraceID())
	// Output:
	// a command gets TRACEPARENT: true
	// a command gets TRACEPARENT: true
	// run report, in one trace: true
}
