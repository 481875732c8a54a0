package otelsolotick_test

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/solotick/solotick/contrib/otelsolotick"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/metrics"
	"github.com/solotick/solotick/scheduler"
)

const patience = time.Minute

// traced is the spans of one process.
type traced struct {
	*sdktrace.TracerProvider
	spans *tracetest.InMemoryExporter
}

func newTraced(t *testing.T, options ...sdktrace.TracerProviderOption) traced {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(spans))...)
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return traced{provider, spans}
}

func newIDs() sdktrace.TracerProviderOption {
	return sdktrace.WithIDGenerator(otelsolotick.NewIDGenerator())
}

// await returns the first span of that name, once it has ended.
func (tr traced) await(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	var found tracetest.SpanStub
	require.Eventually(t, func() bool {
		for _, s := range tr.spans.GetSpans() {
			if s.Name == name {
				found = s
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "no span %q", name)
	return found
}

// start runs jobs until the end of the test.
func start(t *testing.T, store lease.Store, replica string, tr traced, list ...*jobs.Job) *scheduler.Scheduler {
	t.Helper()
	var registry jobs.Registry
	for _, job := range list {
		require.NoError(t, registry.Add(job))
	}
	s, err := scheduler.New(store, &registry, scheduler.WithReplica(replica), scheduler.WithTTL(time.Second),
		scheduler.WithWrappers(otelsolotick.Wrapper(tr.TracerProvider)))
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.Shutdown(ctx)
	})
	return s
}

// open returns a store on the Redis at addr.
func open(t *testing.T, addr string) *redislease.Store {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	store, err := redislease.New(client, "billing")
	require.NoError(t, err)
	return store
}

func newJob(t *testing.T, name, schedule string, handler jobs.Handler, options ...jobs.Option) *jobs.Job {
	t.Helper()
	job, err := jobs.New(name, schedule, handler, options...)
	require.NoError(t, err)
	return job
}

func TestTakeoverLinksToThePreviousAttempt(t *testing.T) {
	server := redistest.Start(t)
	proxy := proxytest.New(t, server.Addr())
	began := make(chan jobs.Run, 9)
	job := func() *jobs.Job {
		return newJob(t, "report", "@every 1s", func(ctx context.Context, run jobs.Run) error {
			began <- run
			if run.Attempt == 1 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			_, inner := trace.SpanFromContext(ctx).TracerProvider().Tracer("test").Start(ctx, "inner")
			inner.End()
			return nil
		})
	}
	first, second := newTraced(t, newIDs()), newTraced(t, newIDs())
	start(t, open(t, proxy.Addr()), "first", first, job())
	held := <-began
	start(t, open(t, server.Addr()), "second", second, job())
	proxy.Partition()

	lost, taken, inner := first.await(t, "run report"), second.await(t, "run report"), second.await(t, "inner")
	require.Equal(t, trace.SpanKindConsumer, taken.SpanKind)
	require.Equal(t, codes.Error, lost.Status.Code)
	require.Contains(t, lost.Status.Description, "lost")
	require.Equal(t, codes.Unset, taken.Status.Code)
	require.Equal(t, lost.SpanContext.TraceID(), taken.SpanContext.TraceID(), "one trace")
	require.False(t, taken.Parent.IsValid())
	require.Empty(t, lost.Links)
	require.Len(t, taken.Links, 1)
	require.Equal(t, lost.SpanContext.SpanID(), taken.Links[0].SpanContext.SpanID())
	require.Equal(t, lost.SpanContext.TraceID(), taken.Links[0].SpanContext.TraceID())
	require.Equal(t, taken.SpanContext.SpanID(), inner.Parent.SpanID())
	require.NotEqual(t, taken.SpanContext.SpanID(), inner.SpanContext.SpanID())

	attributes := map[string]any{}
	for _, a := range taken.Attributes {
		attributes[string(a.Key)] = a.Value.AsInterface()
	}
	require.Equal(t, held.TickID(), attributes["solotick.tick_id"])
	require.Equal(t, "second", attributes["solotick.replica"])
	require.Equal(t, int64(2), attributes["solotick.attempt"])
	require.Greater(t, attributes["solotick.token"], held.Token)
}

func TestRetryLinksToTheAttemptBefore(t *testing.T) {
	tr := newTraced(t, newIDs())
	handler := otelsolotick.Wrapper(tr.TracerProvider)(func(context.Context, jobs.Run) error { return errors.New("no") })
	run := jobs.Run{Namespace: "billing", Job: "report", Tick: time.UnixMilli(1000), Attempt: 1, Token: 7}
	require.EqualError(t, handler(t.Context(), run), "no")
	run.Attempt = 2
	require.EqualError(t, handler(t.Context(), run), "no")
	spans := tr.spans.GetSpans()
	require.Len(t, spans, 2)
	require.Equal(t, spans[0].SpanContext.SpanID(), spans[1].Links[0].SpanContext.SpanID())
	require.Equal(t, "no", spans[1].Status.Description)
	other := run
	other.Tick = run.Tick.Add(time.Millisecond)
	_ = handler(t.Context(), other)
	require.NotEqual(t, spans[0].SpanContext.TraceID(), tr.spans.GetSpans()[2].SpanContext.TraceID(), "another tick")
}

func TestOtherGeneratorsMakeNoDanglingLinks(t *testing.T) {
	tr := newTraced(t)
	handler := otelsolotick.Wrapper(tr.TracerProvider)(func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, handler(t.Context(), jobs.Run{Job: "report", Attempt: 2}))
	require.Empty(t, tr.spans.GetSpans()[0].Links)
}

func TestPanicOfAnInnerWrapperEndsTheSpan(t *testing.T) {
	tr := newTraced(t, newIDs())
	handler := otelsolotick.Wrapper(tr.TracerProvider)(func(context.Context, jobs.Run) error { panic("no") })
	require.Panics(t, func() { _ = handler(t.Context(), jobs.Run{Job: "report", Attempt: 1}) })
	require.Equal(t, codes.Error, tr.spans.GetSpans()[0].Status.Code)
}

func TestTriggerIsInTheTraceOfItsTick(t *testing.T) {
	store, tr := open(t, redistest.Start(t).Addr()), newTraced(t, newIDs())
	job := newJob(t, "report", "0 0 29 2 *", func(context.Context, jobs.Run) error { return nil })
	s := start(t, store, "a", tr, job)
	require.NoError(t, s.WaitReady(t.Context()))

	ctx, asking := tr.Tracer("test").Start(t.Context(), "asking")
	f, err := fleet.New(store)
	require.NoError(t, err)
	triggered, err := f.Trigger(ctx, "report", fleet.TriggerOptions{By: "ops"})
	require.NoError(t, err)
	otelsolotick.Triggered(ctx, tr.TracerProvider, "billing", "report", triggered.Tick)
	asking.End()

	trigger, run := tr.await(t, "trigger report"), tr.await(t, "run report")
	require.Equal(t, trace.SpanKindProducer, trigger.SpanKind)
	require.Equal(t, run.SpanContext.TraceID(), trigger.SpanContext.TraceID())
	require.Len(t, trigger.Links, 2)
	require.Equal(t, asking.SpanContext().SpanID(), trigger.Links[0].SpanContext.SpanID())
	require.Equal(t, run.SpanContext.SpanID(), trigger.Links[1].SpanContext.SpanID())
}

func TestRequestsCarryTheSpanOfTheirAttempt(t *testing.T) {
	headers := make(chan string, 1)
	server := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		headers <- r.Header.Get("traceparent")
	}))
	defer server.Close()
	call, err := http.New(http.Call{URL: server.URL}, nil)
	require.NoError(t, err)
	tr := newTraced(t, newIDs())
	run := jobs.Run{Namespace: "billing", Job: "report", Tick: time.UnixMilli(1000), Attempt: 1, Token: 7}
	require.NoError(t, otelsolotick.Wrapper(tr.TracerProvider)(call)(t.Context(), run))
	c := tr.spans.GetSpans()[0].SpanContext
	require.Equal(t, "00-"+c.TraceID().String()+"-"+c.SpanID().String()+"-01", <-headers)
}

func TestWithoutProviderNothingIsTraced(t *testing.T) {
	handler := otelsolotick.Wrapper(nil)(func(ctx context.Context, run jobs.Run) error {
		require.Empty(t, run.Traceparent)
		require.False(t, trace.SpanContextFromContext(ctx).IsValid())
		return io.EOF
	})
	require.ErrorIs(t, handler(t.Context(), jobs.Run{Attempt: 1}), io.EOF)
	otelsolotick.Triggered(t.Context(), nil, "default", "report", time.Now())
}

func TestMetricsArriveThroughTheBridge(t *testing.T) {
	m := metrics.New()
	m.CountRedisCommands(3)
	producer, err := otelsolotick.Producer(m)
	require.NoError(t, err)
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(producer))
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	var collected metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &collected))
	var names []string
	for _, s := range collected.ScopeMetrics {
		for _, m := range s.Metrics {
			names = append(names, m.Name)
		}
	}
	require.Contains(t, strings.Join(names, " "), "solotick_redis_commands_total")
	require.Contains(t, strings.Join(names, " "), "solotick_lease_margin_seconds")
	_, err = otelsolotick.Producer(m, m)
	require.Error(t, err, "twice the same")
}
