package main

import (
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

const oneJob = `
jobs:
- name: hello
  schedule: "@every 1s"
  log: {message: hello}
`

func TestTheQuickstartRunsItsJobsAndStopsCleanly(t *testing.T) {
	t.Parallel()
	p := start(t, quickstart(t), "--http", "127.0.0.1:0")
	started := p.await("worker started", "namespace", "quickstart", "jobs", 2.0, "version", testVersion)
	require.NotEmpty(t, started["next_tick"])
	settled := p.await("tick settled", "job", "hello", "outcome", "succeeded", "attempt", 1.0)
	require.Equal(t, started["replica"], settled["replica"])
	settled = p.await("tick settled", "job", "environment", "outcome", "succeeded", "attempt", 1.0)
	var output strings.Builder
	for _, line := range p.all("output", "job", "environment", "tick", settled["tick"]) {
		output.WriteString(line["line"].(string) + "\n")
	}
	require.Contains(t, output.String(), "namespace=quickstart job=environment\n")
	require.Contains(t, output.String(), "attempt=1 replica="+started["replica"].(string)+"\n")
	require.Empty(t, p.all("run lost"))

	p.signal(syscall.SIGTERM)
	require.Equal(t, 0, p.exit())
	p.await("worker stopped", "clean", true)
	require.Empty(t, p.stdout.String(), "logs go to stderr")
	require.Empty(t, p.warnings())
	p.requireJSON()
}

func TestARunInThisProcessLeavesNothingBehind(t *testing.T) {
	stop := running(t, "run", "--config", filetest.Config(t, oneJob), "--http", "127.0.0.1:0", "--log-level", "debug")
	r := stop() // at once: a start that is under way is finished first
	require.Equal(t, 0, r.code, r.stderr)
	require.Contains(t, r.stderr, `msg="worker stopped" clean=true`)
	require.Empty(t, r.stdout)
}

func TestFlagsOverrideTheFile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, `
namespace: from-file
replica: from-file
redis: {url: "redis://127.0.0.1:1/0"}
http: {addr: "127.0.0.1:1"}
log: {level: error, format: text}
`+oneJob)
	p := start(t, path, "--namespace", "from-flag", "--replica", "flag-1", "--redis", server.URL(), "--http", "127.0.0.1:0",
		"--log-level", "debug", "--log-format", "json", "--max-runs", "3")
	p.await("worker started", "namespace", "from-flag", "replica", "flag-1", "max_runs", 3.0)
	p.await("claim answered", "level", "DEBUG", "status", "granted")
	p.ready(http.StatusOK)
	keys, err := server.Client(t).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Contains(t, keys, redislease.Key("from-flag", "hello"))
}

func TestReplicaIsNamedAfterItsHost(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	started := start(t, filetest.Config(t, oneJob), "--http", "127.0.0.1:0").await("worker started")
	require.Regexp(t, "^[A-Za-z0-9._-]+-[0-9a-f]{8}$", started["replica"])
	if naming.Valid(host) && len(host) < 100 {
		require.Contains(t, started["replica"], host+"-")
	}
}

func TestConfiguredAddressMustBeFree(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	addr := taken.Addr().String()
	for name, args := range map[string][]string{
		"by flag":     {"--config", filetest.Config(t, oneJob), "--http", addr},
		"in the file": {"--config", filetest.Config(t, "http: {addr: \""+addr+"\"}\n"+oneJob)},
	} {
		t.Run(name, func(t *testing.T) {
			r := do(t, nil, append([]string{"run"}, args...)...)
			require.Equal(t, 1, r.code)
			require.Contains(t, r.stderr, "worker: http.addr: "+addr+" is taken: stop what listens there, or choose another address")
			require.NotContains(t, r.stderr, "run started")
		})
	}
}

func TestTakenDefaultAddressIsReplaced(t *testing.T) {
	t.Parallel()
	if taken, err := net.Listen("tcp", config.Default().HTTP.Addr); err == nil { // otherwise someone else has it
		defer func() { _ = taken.Close() }()
	}
	p := start(t, filetest.Config(t, oneJob))
	p.await("default http address is taken, using a free port", "taken", config.Default().HTTP.Addr)
	listening := p.await("http listening")["addr"].(string)
	require.True(t, strings.HasPrefix(listening, "127.0.0.1:"), listening)
	require.NotEqual(t, config.Default().HTTP.Addr, listening)
	status, body := p.get("/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)
}

func TestReplicaWithoutJobsWarns(t *testing.T) {
	t.Parallel()
	p := start(t, filetest.Config(t, `
groups: [us]
jobs:
- name: a
  schedule: "@hourly"
  groups: [eu]
  log: {message: a}
`), "--http", "127.0.0.1:0")
	p.await("some jobs are for replicas of other groups; groups says which this one serves", "level", "WARN", "jobs", 1.0)
	started := p.await("worker started", "jobs", 0.0)
	require.NotContains(t, started, "next_tick")
}

func TestMetricsHaveThePromisedNames(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := start(t, filetest.Config(t, oneJob), "--http", "127.0.0.1:0", "--redis", server.URL(), "--log-level", "debug")
	p.await("tick settled", "job", "hello", "outcome", "succeeded")
	p.await("clock sampled")
	status, body := p.get("/metrics")
	require.Equal(t, http.StatusOK, status)
	for _, series := range []string{
		`ticks_total{job="hello",outcome="succeeded"}`, `ticks_total{job="hello",outcome="missed"} 0`,
		`claims_total{job="hello",result="granted"}`, `run_duration_seconds_count `,
		`tick_lag_seconds_count `, `runs_in_progress{job="hello"}`, `takeovers_total{job="hello"} 0`,
		`leases_held `, `lease_wait_seconds_count `, `lease_hold_seconds_count `, `lease_renewals_total{result="kept"}`,
		`leases_lost_total{reason="expired"} 0`, `redis_commands_total `, `clock_offset_seconds `,
		`next_tick_timestamp_seconds{job="hello"} 1`, `last_success_timestamp_seconds{job="hello"} 1`,
		`build_info{version="` + testVersion + `"} 1`, `store_up 1`,
	} {
		require.Contains(t, body, "\nsolotick_"+series)
	}
	require.NotContains(t, body, "\nsolotick_redis_commands_total 0\n")
	require.Contains(t, body, "\ngo_goroutines ")
	require.Contains(t, body, "\nprocess_cpu_seconds_total ")
}

func TestAPasswordIsNeverLogged(t *testing.T) {
	t.Parallel()
	const password = "hunter2secret"
	server := redistest.Start(t, redistest.WithConf("requirepass", password))
	wrong := strings.Replace(server.URL(), password, "wrong"+password, 1)
	for name, test := range map[string]struct {
		url   string
		level string
	}{
		"right":      {server.URL(), "INFO"},
		"wrong":      {wrong, "ERROR"},
		"not TLS":    {strings.Replace(server.URL(), "redis://", "rediss://", 1), "ERROR"},
		"not a host": {"redis://:" + password + "@no.such.host.invalid:6379/0", "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, filetest.Config(t, "redis: {url: \""+test.url+"\"}\n"+oneJob), "--http", "127.0.0.1:0", "--log-level", "debug")
			if name == "wrong" { // only somebody ends that
				require.Equal(t, 1, p.exit())
				require.Contains(t, p.plain(), "check the user and the password in redis.url")
				require.NotContains(t, p.text(), password)
				return
			}
			if test.level == "ERROR" {
				down := p.await("store does not answer; nothing starts until it does")
				require.NotEmpty(t, down["error"])
				require.NotEmpty(t, down["hint"])
			} else {
				p.await("tick settled")
			}
			_, _, err := p.ask("/readyz")
			require.NoError(t, err)
			p.signal(syscall.SIGTERM)
			require.Equal(t, 0, p.exit())
			require.NotContains(t, p.text(), password)
		})
	}
}

func TestTheWorkerServesItsPagesAndEndpoints(t *testing.T) {
	t.Parallel()
	p := start(t, filetest.Config(t, oneJob), "--http", "127.0.0.1:0")
	for path, want := range map[string]string{"/": "hello", "/api/v1/jobs": "hello", "/metrics": "solotick_", "/healthz": "ok"} {
		status, body := p.get(path)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, body, want, path)
	}
	status, _ := p.get("/nowhere")
	require.Equal(t, http.StatusNotFound, status)
}
