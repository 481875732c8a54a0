// Command example prints the spans of a job that fails at first. It shows two attempts of one tick,
// in one trace, and in each the span of a call that the handler makes.
//
//	go -C otelsolotick run ./example
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/otelsolotick"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run runs the job until ctx ends, and then exports the last spans.
func run(ctx context.Context, out io.Writer) error {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSyncer(&printer{out: out}), // a service has sdktrace.WithBatcher(otlptracegrpc.New(…))
		sdktrace.WithIDGenerator(otelsolotick.NewIDGenerator()),
	)
	tracer := provider.Tracer("example")
	s := solotick.On(new(memlease.Store), solotick.WithScheduler(scheduler.WithWrappers(otelsolotick.Wrapper(provider))))
	_ = s.Func("report", "@every 2s", func(ctx context.Context, run solotick.Run) error {
		_, call := tracer.Start(ctx, "call the warehouse")
		defer call.End()
		if run.Attempt == 1 {
			return errors.New("the warehouse is busy")
		}
		return nil
	}, jobs.WithRetry(jobs.Retry{MaxAttempts: 3, Backoff: 100 * time.Millisecond, MaxBackoff: time.Second})) // Run returns its error
	err := s.Run(ctx)
	return errors.Join(err, provider.Shutdown(context.WithoutCancel(ctx)))
}

// printer is an exporter that prints a line for each span.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

// ExportSpans implements sdktrace.SpanExporter.
func (p *printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range spans {
		if _, err := fmt.Fprintf(p.out, "trace %s span %s parent %s: %s %s %s\n", s.SpanContext().TraceID(), s.SpanContext().SpanID(),
			s.Parent().SpanID(), s.Name(), s.Status().Code, s.Status().Description); err != nil {
			return err
		}
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (*printer) Shutdown(context.Context) error { return nil }
