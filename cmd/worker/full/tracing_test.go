package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// receiver takes spans by OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []*trace.Span
	about  map[string]string // the newest resource
	bearer string            // of the newest request
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{about: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || q.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bearer = q.Header.Get("Authorization")
		for _, of := range sent.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				r.about[a.Key] = a.Value.GetStringValue()
			}
			for _, scope := range of.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// attempt returns the span of an attempt with that number.
func (r *receiver) attempt(number int64) *trace.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range r.spans {
		for _, a := range span.Attributes {
			if a.Key == "solotick.attempt" && a.Value.GetIntValue() == number {
				return span
			}
		}
	}
	return nil
}

// A worker is killed while it runs a command: the span of the next one links to that of the first,
// which nobody has exported.
func TestWorkerExportsTheSpanOfATakeover(t *testing.T) {
	t.Parallel()
	server, spans, dir := redistest.Start(t), newReceiver(t), t.TempDir()
	command := fmt.Sprintf(`if [ ! -e %[1]s/1 ]; then echo $TRACEPARENT >%[1]s/part; mv %[1]s/part %[1]s/1; exec sleep 600; fi; `+
		`[ $SOLOTICK_ATTEMPT != 2 ] || echo $TRACEPARENT >%[1]s/2`, dir)
	config := fmt.Sprintf("redis: {url: %q}\nlease: {ttl: 3s}\njobs: [{name: report, schedule: '@every 1s', exec: {command: [sh, -c, %q]}}]\n", server.URL(), command)
	path := filetest.Config(t, config)
	run := func(replica string) *workertest.Process {
		cmd := exec.Command(workertest.Program(t), "run", "--config", path, "--log-format", "json", "--http", "127.0.0.1:0", "--replica", replica)
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20word",
			"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")
		return workertest.Watch(t, cmd)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	first := run("first")
	require.Eventually(t, func() bool { return read("1") != "" }, workertest.Patience, 10*time.Millisecond)
	first.Signal(syscall.SIGKILL)
	second := run("second")
	require.Eventually(t, func() bool { return read("2") != "" }, workertest.Patience, 10*time.Millisecond)
	second.Signal(syscall.SIGTERM)
	require.Zero(t, second.Exit())

	taken := spans.attempt(2) // the spans left to export at the stop are there
	require.NotNil(t, taken)
	require.Equal(t, "run report", taken.Name)
	require.Equal(t, trace.Span_SPAN_KIND_CONSUMER, taken.Kind)
	id := func(trace, span []byte) string {
		return "00-" + hex.EncodeToString(trace) + "-" + hex.EncodeToString(span) + "-01"
	}
	require.Equal(t, read("2"), id(taken.TraceId, taken.SpanId), "what its command was given")
	require.Len(t, taken.Links, 1)
	require.Equal(t, read("1"), id(taken.Links[0].TraceId, taken.Links[0].SpanId), "what the command of the first attempt was given")
	require.Equal(t, "Bearer word", spans.bearer)
	require.Equal(t, []string{"solotick", "default", "second", "test"}, []string{
		spans.about["service.name"], spans.about["service.namespace"], spans.about["service.instance.id"], spans.about["deployment.environment.name"],
	})
}

// A receiver that is away costs spans, and nothing else.
func TestReceiverThatIsAwayHoldsNothingUp(t *testing.T) {
	t.Parallel()
	server, spans := redistest.Start(t), newReceiver(t)
	spans.Close()
	path := filetest.Config(t, fmt.Sprintf("redis: {url: %q}\ntracing: {endpoint: %q}\n%s", server.URL(), spans.URL, workertest.OneJob))
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	require.Eventually(t, func() bool { return len(p.All("tick settled")) >= 2 }, workertest.Patience, 10*time.Millisecond)
	p.Signal(syscall.SIGTERM)
	require.Zero(t, p.Exit())
	require.NotEmpty(t, p.All("spans are not exported"))
	require.NotEmpty(t, p.All("worker stopped", "clean", true))
}

func TestTracingThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" must be http/protobuf`,
		"OTEL_TRACES_EXPORTER=zipkin":      `OTEL_TRACES_EXPORTER: "zipkin" must be otlp or none`,
	} {
		cmd := exec.Command(workertest.Program(t), "run", "--config", filetest.Config(t, "tracing: {endpoint: 'http://localhost:4317'}\n"+workertest.OneJob), "--http", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), env)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), string(out))
		require.Contains(t, string(out), want)
	}
	r := workertest.Do(t, nil, "validate", "--config", filetest.Config(t, "tracing: {endpoint: 'http://me:secret@collector:4318'}\n"+workertest.OneJob))
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr+r.Stdout, "tracing.endpoint")
	require.NotContains(t, r.Stderr+r.Stdout, "secret@")
}
