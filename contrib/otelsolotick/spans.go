package otelsolotick

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/solotick/solotick/jobs"
)

const scope = "github.com/solotick/solotick/contrib/otelsolotick"

// Wrapper returns what makes a span of each attempt, for scheduler.WithWrappers. Put it first, so
// that the spans of other wrappers are inside it. A nil provider is none: nothing is traced.
func Wrapper(provider trace.TracerProvider) func(next jobs.Handler) jobs.Handler {
	if provider == nil {
		return func(next jobs.Handler) jobs.Handler { return next }
	}
	tracer := provider.Tracer(scope)
	return func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, run jobs.Run) (err error) {
			span := begin(ctx, tracer, run)
			failed := fmt.Errorf("the attempt did not return") // unless it does: a panic of a wrapper
			defer func() { end(ctx, span, failed) }()
			if c := span.SpanContext(); c.IsValid() {
				run.Traceparent = fmt.Sprintf("00-%s-%s-%s", c.TraceID(), c.SpanID(), c.TraceFlags())
			}
			err = next(jobs.NewContext(trace.ContextWithSpan(ctx, span), run), run)
			failed = err
			return err
		}
	}
}

// begin starts the span of an attempt. What follows in its context gets ids of its own.
func begin(ctx context.Context, tracer trace.Tracer, run jobs.Run) trace.Span {
	this := attempt{run.TickID(), run.Attempt}
	_, span := tracer.Start(context.WithValue(ctx, attemptOf{}, this), "run "+run.Job,
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("solotick.namespace", run.Namespace),
			attribute.String("solotick.job", run.Job),
			attribute.String("solotick.tick", run.Tick.UTC().Format(time.RFC3339Nano)),
			attribute.String("solotick.tick_id", run.TickID()),
			attribute.Int64("solotick.token", run.Token),
			attribute.Int("solotick.attempt", run.Attempt),
			attribute.String("solotick.replica", run.Replica),
		))
	if run.Key != "" {
		span.SetAttributes(attribute.String("solotick.key", run.Key))
	}
	if c := span.SpanContext(); c.SpanID() == this.spanID() && run.Attempt > 1 {
		before := attempt{this.tickID, run.Attempt - 1}
		span.AddLink(trace.Link{SpanContext: before.context(c.TraceFlags()), Attributes: []attribute.KeyValue{
			attribute.String("solotick.link", "previous attempt"),
		}})
	}
	return span
}

func end(ctx context.Context, span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	if cause := context.Cause(ctx); cause != nil {
		span.SetAttributes(attribute.String("solotick.cause", cause.Error()))
	}
	span.End()
}

// Triggered adds a span to the trace of a tick that was triggered. It links to the caller's span,
// which is that of ctx, and the first attempt follows from it. Call it with the tick that
// fleet.Fleet.Trigger has returned, but not with one that an earlier trigger got: its span has the
// same id.
func Triggered(ctx context.Context, provider trace.TracerProvider, namespace, job string, tick time.Time) {
	if provider == nil {
		return
	}
	run := jobs.Run{Namespace: namespace, Job: job, Tick: tick}
	trigger, first := attempt{run.TickID(), 0}, attempt{run.TickID(), 1}
	_, span := provider.Tracer(scope).Start(context.WithValue(ctx, attemptOf{}, trigger), "trigger "+job,
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
			attribute.String("solotick.namespace", namespace),
			attribute.String("solotick.job", job),
			attribute.String("solotick.tick_id", run.TickID()),
		))
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		span.AddLink(trace.Link{SpanContext: c, Attributes: []attribute.KeyValue{attribute.String("solotick.link", "asked for by")}})
	}
	if c := span.SpanContext(); c.SpanID() == trigger.spanID() {
		span.AddLink(trace.Link{SpanContext: first.context(c.TraceFlags()), Attributes: []attribute.KeyValue{
			attribute.String("solotick.link", "first attempt"),
		}})
	}
	span.End()
}
