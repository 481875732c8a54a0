// Package otelsolotick traces the runs of a scheduler with OpenTelemetry, and hands its metrics to
// it. It is a module of its own: who does not use it gets none of OpenTelemetry.
//
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(otelsolotick.NewIDGenerator()))
//	s, err := scheduler.New(store, registry, scheduler.WithWrappers(otelsolotick.Wrapper(provider)))
//
// # Spans
//
// Each attempt of a tick is a span of the kind consumer, named "run JOB". Its attributes are
// solotick.namespace, .job, .tick, .tick_id, .token, .attempt and .replica, and .key of a stored
// schedule. An attempt that fails has the error, and the cause of its context if that had ended:
// the lease was lost, the replica stopped. The handler's context has the span, and the run its traceparent: commands, requests and
// the entries of streams carry it on.
//
// All attempts of a tick are one trace, whichever replicas make them. The trace's id is made from
// the tick's id, and the span's id from that and the attempt's number. So a replica that takes a
// tick over knows the span of the holder before it without asking, and links to it. A holder that
// was killed has exported nothing: then the link names a span that no backend has. [Triggered] adds
// to the trace who asked for the tick.
//
// With a provider that has another generator of ids each attempt is a trace of its own, without
// links. A sampler that decides by the trace's id, as sdktrace.TraceIDRatioBased does, takes all
// attempts of a tick or none.
package otelsolotick
