package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

var quiet = slog.New(slog.DiscardHandler)

func TestThePartsFitTogether(t *testing.T) {
	require.NoError(t, fx.ValidateApp(replica, fx.Supply(config.Default(), quiet, new(logWriter), configFile(""), new(origin))))
}

func TestTheStopTakesAsLongAsItsPartsMay(t *testing.T) {
	require.Equal(t, time.Minute+30*time.Second, stopLimit(time.Minute))
	require.Positive(t, stopLimit(math.MaxInt64))
}

func TestWhyAReplicaIsNotReady(t *testing.T) {
	r := new(readiness)
	require.Contains(t, r.why(false), "does not answer")
	r.observe(scheduler.StoreUp{})
	require.Contains(t, r.why(false), "starting")
	r.observe(scheduler.ClockSampled{})
	require.Empty(t, r.why(true))
	r.observe(scheduler.StoreDown{})
	require.Contains(t, r.why(false), "does not answer")
	r.draining.Store(true)
	require.Contains(t, r.why(true), "draining")
}

func TestTheServerHasItsEndpointsAndNothingElse(t *testing.T) {
	reason := ""
	handler := newServerHandler(prometheus.NewRegistry(), func() string { return reason }, quiet)
	ask := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String()
	}
	for path, want := range map[string]int{
		"/": 200, "/metrics": 200, "/healthz": 200, "/readyz": 200,
		"/metrics/": 404, "/api/v1/jobs": 404, "/debug/pprof/": 404, "/index.html": 404,
	} {
		code, _ := ask(http.MethodGet, path)
		require.Equal(t, want, code, path)
	}
	code, _ := ask(http.MethodPost, "/readyz")
	require.Equal(t, http.StatusMethodNotAllowed, code)

	reason = "draining"
	code, body := ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "draining\n", body)
	code, _ = ask(http.MethodGet, "/healthz")
	require.Equal(t, http.StatusOK, code, "a process that drains lives")
}

func TestADefaultAddressIsUsedWhereItIsFree(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	listener, err := newServer(config.Server{Addr: addr}, nil, quiet).bind(t.Context())
	require.NoError(t, err)
	require.Equal(t, addr, listener.Addr().String())
	require.NoError(t, listener.Close())
}

func TestAnAddressOfNoInterfaceIsAClearError(t *testing.T) {
	_, err := newServer(config.Server{Addr: "192.0.2.1:80", AddrSet: true}, nil, quiet).bind(t.Context())
	require.ErrorContains(t, err, "http.addr: cannot listen on 192.0.2.1:80: ")
	require.ErrorContains(t, err, "choose another address with --http or http.addr")
}

func TestAServerThatEndsByItselfSaysSo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	failed := make(failures, 1)
	s := newServer(config.Server{}, http.NotFoundHandler(), quiet)
	s.serve(listener, failed.report)
	require.NoError(t, listener.Close())
	select {
	case err := <-failed:
		require.ErrorContains(t, err, "serve HTTP on "+listener.Addr().String())
	case <-time.After(patience):
		require.Fail(t, "no failure was reported")
	}
	require.NoError(t, s.stop(t.Context()))
}

func TestTheFirstFailureIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where waiting for ever is a deadlock that fails the test
		failed := make(failures, 1)
		failed.report(errors.New("first"))
		failed.report(errors.New("second"))
		require.EqualError(t, <-failed, "first")
	})
}

func TestJobsThatCannotBeMadeAreFaultsWithTheirLine(t *testing.T) {
	spec := jobs.Defaults()
	spec.Name, spec.Schedule = "a", "@hourly"
	bad := spec
	bad.Name, bad.Timeout = "b b", -1
	_, err := newRegistry(&config.Config{Jobs: []config.Job{
		{Spec: spec, Line: 3, Log: &config.Log{Message: "x"}},
		{Spec: bad, Line: 7, Exec: &config.Exec{Command: []string{"true"}, KillGrace: -1, Env: map[string]string{"A=": "hunter2"}}},
		{Spec: spec, Line: 11, HTTP: &config.HTTP{URL: "https://example.com", Success: []config.StatusRange{{From: 99, To: 100}}}},
		{Spec: spec, Line: 15},
		{Spec: spec, Line: 19, Log: &config.Log{Message: "x"}},
		{Spec: spec, Line: 23, RedisStream: &config.RedisStream{MaxLen: -1, Fields: map[string]string{"job": "hunter2"}}},
	}}, "f.yaml", nil, quiet, nil)
	_, ok := errors.AsType[*configError](err)
	require.True(t, ok)
	require.EqualError(t, err, `f.yaml:7:1: jobs[1].exec.env: must be the name of a variable: not empty, without = and NUL
f.yaml:7:1: jobs[1].exec.kill_grace: must be at least 0s
f.yaml:7:1: jobs[1].name: must start with a letter or digit and hold at most 128 of A-Z a-z 0-9 . _ -
f.yaml:7:1: jobs[1].timeout: must be at least 0s
f.yaml:11:1: jobs[2].http.success[0]: must be a status or a range of them, from 200 to 599
f.yaml:15:1: jobs[3]: has no kind of work that this program knows; use exec, http, redis_stream or log
f.yaml:19:1: jobs[4].name: must be unique: another job has this name; rename one of the two
f.yaml:23:1: jobs[5].redis_stream.stream: must be the key of a stream
f.yaml:23:1: jobs[5].redis_stream.maxlen: must be at least 0; 0 keeps every entry
f.yaml:23:1: jobs[5].redis_stream.fields.job: is set for each entry; choose another name
f.yaml:23:1: jobs[5].redis_stream: needs Redis, and none is configured: set redis.url, or start with run --redis URL`)
}

func TestLogsAreColouredOnATerminalPlainInAPipeAndJSONWhereAskedFor(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	none := func(string) (string, bool) { return "", false }
	newLogger(write, "text", slog.LevelInfo, none).Info("hello", slog.Duration("took", time.Second))
	require.NoError(t, write.Close())
	text, err := io.ReadAll(read)
	require.NoError(t, err)
	require.Regexp(t, `^time=\S+ level=INFO msg=hello took=1s\n$`, string(text), "without colours")

	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = terminal.Close() }()
	handler := newLogger(terminal, "text", slog.LevelInfo, none).Handler()
	require.NotEqual(t, fmt.Sprintf("%T", slog.NewTextHandler(nil, nil)), fmt.Sprintf("%T", handler), "colours")

	var out bytes.Buffer
	logger := newLogger(&out, "json", slog.LevelWarn, none)
	logger.Info("quiet")
	tick := time.Date(2026, 3, 1, 3, 0, 0, 0, time.FixedZone("CET", 3600))
	logger.Warn("hello", slog.Duration("took", 1500*time.Millisecond), slog.Time("tick", tick))
	require.Regexp(t, `^{"time":"\S+Z","level":"WARN","msg":"hello","took":"1.5s","tick":"2026-03-01T02:00:00.000Z"}\n$`, out.String())
}

func TestHintsNameWhatToLookAt(t *testing.T) {
	s := &store{}
	for message, want := range map[string]string{
		"NOAUTH Authentication required.":                       "password",
		"WRONGPASS invalid username-password pair":              "password",
		"NOPERM this user has no permissions":                   "solotick:*",
		"tls: first record does not look like a TLS handshake":  "TLS",
		"ERR unknown command 'EVALSHA'":                         "Redis 7.0",
		"dial tcp 127.0.0.1:1: connect: connection refused":     "Redis runs",
		"dial tcp 192.0.2.1:6379: i/o timeout":                  "network",
		"READONLY You can't write against a read only replica.": "primary",
	} {
		require.Contains(t, s.advice(errors.New(message)), want, message)
	}
	require.Contains(t, s.advice(context.DeadlineExceeded), "network")
	require.Contains(t, s.advice(&net.DNSError{Err: "no such host"}), "host")
}

func TestHintsNameTheKeysInUse(t *testing.T) {
	refused, denied := errors.New("dial tcp 127.0.0.1:1: connect: connection refused"), errors.New("WRONGPASS invalid username-password pair")
	for text, want := range map[string][2]string{
		"{url: 'redis://h'}":                                {"redis.url", "redis.url"},
		"{url: 'redis://h', password: x}":                   {"redis.url", "redis.username and redis.password"},
		"{addrs: ['h:1', 'i:1'], cluster: true}":            {"redis.addrs", "redis.addrs"},
		"{addrs: ['h:1'], master: m, password: x}":          {"redis.addrs", "redis.username and redis.password"},
		"{quorum: ['redis://a', 'redis://b', 'redis://c']}": {"redis.quorum", "redis.quorum"},
	} {
		cfg, err := config.Parse("f", []byte("redis: "+text+"\n"+oneJob), nil)
		require.NoError(t, err, text)
		s := &store{redis: cfg.Redis}
		require.Equal(t, "check that Redis runs, and its address in "+want[0], s.advice(refused), text)
		require.Equal(t, "check the user and the password in "+want[1], s.advice(denied), text)
	}
}

func TestTheFirstTickIsTheEarliestOfTheJobsThatRun(t *testing.T) {
	var registry jobs.Registry
	for name, schedule := range map[string]string{"hourly": "@hourly", "often": "@every 1m", "late": "@daily", "never": "@at 2020-01-01T00:00:00Z"} {
		spec := jobs.Defaults()
		spec.Name, spec.Schedule, spec.Paused = name, schedule, name == "often"
		job, err := jobs.FromSpec(spec, notMade)
		require.NoError(t, err)
		require.NoError(t, registry.Add(job))
	}
	now := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	served := []scheduler.JobStatus{{Name: "late"}, {Name: "often"}, {Name: "hourly"}, {Name: "never"}}
	name, tick := firstTick(served, &registry, now)
	require.Equal(t, "hourly", name)
	require.Equal(t, time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), tick)
	name, _ = firstTick(served[3:], &registry, now)
	require.Empty(t, name)
}
