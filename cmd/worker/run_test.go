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
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestTheQuickstartRunsItsJobsAndStopsCleanly(t *testing.T) {
	t.Parallel()
	p := workertest.Start(t, quickstart(t), "--http", "127.0.0.1:0")
	started := p.Await("worker started", "namespace", "quickstart", "jobs", 2.0, "version", workertest.Version)
	require.NotEmpty(t, started["next_tick"])
	settled := p.Await("tick settled", "job", "hello", "outcome", "succeeded", "attempt", 1.0)
	require.Equal(t, started["replica"], settled["replica"])
	settled = p.Await("tick settled", "job", "environment", "outcome", "succeeded", "attempt", 1.0)
	var output strings.Builder
	for _, line := range p.All("output", "job", "environment", "tick", settled["tick"]) {
		output.WriteString(line["line"].(string) + "\n")
	}
	require.Contains(t, output.String(), "namespace=quickstart job=environment\n")
	require.Contains(t, output.String(), "attempt=1 replica="+started["replica"].(string)+"\n")
	require.Empty(t, p.All("run lost"))

	p.Signal(syscall.SIGTERM)
	require.Equal(t, 0, p.Exit())
	p.Await("worker stopped", "clean", true)
	require.Empty(t, p.Stdout.String(), "logs go to stderr")
	require.Empty(t, p.Warnings())
	p.RequireJSON()
}

func TestARunInThisProcessLeavesNothingBehind(t *testing.T) {
	stop := workertest.Running(t, "run", "--config", filetest.Config(t, workertest.OneJob), "--http", "127.0.0.1:0", "--log-level", "debug")
	r := stop() // at once: a start that is under way is finished first
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, `msg="worker stopped" clean=true`)
	require.Empty(t, r.Stdout)
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
`+workertest.OneJob)
	p := workertest.Start(t, path, "--namespace", "from-flag", "--replica", "flag-1", "--redis", server.URL(), "--http", "127.0.0.1:0",
		"--log-level", "debug", "--log-format", "json", "--max-runs", "3")
	p.Await("worker started", "namespace", "from-flag", "replica", "flag-1", "max_runs", 3.0)
	p.Await("claim answered", "level", "DEBUG", "status", "granted")
	p.Ready(http.StatusOK)
	keys, err := server.Client(t).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Contains(t, keys, redislease.Key("from-flag", "hello"))
}

func TestReplicaIsNamedAfterItsHost(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	started := workertest.Start(t, filetest.Config(t, workertest.OneJob), "--http", "127.0.0.1:0").Await("worker started")
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
		"by flag":     {"--config", filetest.Config(t, workertest.OneJob), "--http", addr},
		"in the file": {"--config", filetest.Config(t, "http: {addr: \""+addr+"\"}\n"+workertest.OneJob)},
	} {
		t.Run(name, func(t *testing.T) {
			r := workertest.Do(t, nil, append([]string{"run"}, args...)...)
			require.Equal(t, 1, r.Code)
			require.Contains(t, r.Stderr, "worker: http.addr: "+addr+" is taken: stop what listens there, or choose another address")
			require.NotContains(t, r.Stderr, "run started")
		})
	}
}

func TestTakenDefaultAddressIsReplaced(t *testing.T) {
	t.Parallel()
	if taken, err := net.Listen("tcp", config.Default().HTTP.Addr.HostPort); err == nil { // otherwise someone else has it
		defer func() { _ = taken.Close() }()
	}
	p := workertest.Start(t, filetest.Config(t, workertest.OneJob))
	p.Await("default http address is taken, using a free port", "taken", config.Default().HTTP.Addr.HostPort)
	listening := p.Await("http listening")["addr"].(string)
	require.True(t, strings.HasPrefix(listening, "127.0.0.1:"), listening)
	require.NotEqual(t, config.Default().HTTP.Addr.HostPort, listening)
	status, body := p.Get("/healthz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)
}

func TestReplicaWithoutJobsWarns(t *testing.T) {
	t.Parallel()
	p := workertest.Start(t, filetest.Config(t, `
groups: [us]
jobs:
- name: a
  schedule: "@hourly"
  groups: [eu]
  log: {message: a}
`), "--http", "127.0.0.1:0")
	p.Await("some jobs are for replicas of other groups; groups says which this one serves", "level", "WARN", "jobs", 1.0)
	started := p.Await("worker started", "jobs", 0.0)
	require.NotContains(t, started, "next_tick")
}

func TestMetricsHaveThePromisedNames(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := workertest.Start(t, filetest.Config(t, workertest.OneJob), "--http", "127.0.0.1:0", "--redis", server.URL(), "--log-level", "debug")
	p.Await("tick settled", "job", "hello", "outcome", "succeeded")
	p.Await("clock sampled")
	status, body := p.Get("/metrics")
	require.Equal(t, http.StatusOK, status)
	for _, series := range []string{
		`ticks_total{job="hello",outcome="succeeded"}`, `ticks_total{job="hello",outcome="missed"} 0`,
		`claims_total{job="hello",result="granted"}`, `run_duration_seconds_count `,
		`tick_lag_seconds_count `, `runs_in_progress{job="hello"}`, `takeovers_total{job="hello"} 0`,
		`leases_held `, `lease_wait_seconds_count `, `lease_hold_seconds_count `, `lease_renewals_total{result="kept"}`,
		`leases_lost_total{reason="expired"} 0`, `redis_commands_total `, `clock_offset_seconds `,
		`next_tick_timestamp_seconds{job="hello"} 1`, `last_success_timestamp_seconds{job="hello"} 1`,
		`build_info{version="` + workertest.Version + `"} 1`, `store_up 1`,
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
			p := workertest.Start(t, filetest.Config(t, "redis: {url: \""+test.url+"\"}\n"+workertest.OneJob), "--http", "127.0.0.1:0", "--log-level", "debug")
			if name == "wrong" { // only somebody ends that
				require.Equal(t, 1, p.Exit())
				require.Contains(t, p.Plain(), "check the user and the password in redis.url")
				require.NotContains(t, p.Text(), password)
				return
			}
			if test.level == "ERROR" {
				down := p.Await("store does not answer; nothing starts until it does")
				require.NotEmpty(t, down["error"])
				require.NotEmpty(t, down["hint"])
			} else {
				p.Await("tick settled")
			}
			_, _, err := p.Ask("/readyz")
			require.NoError(t, err)
			p.Signal(syscall.SIGTERM)
			require.Equal(t, 0, p.Exit())
			require.NotContains(t, p.Text(), password)
		})
	}
}

func TestTheWorkerServesItsPagesAndEndpoints(t *testing.T) {
	t.Parallel()
	p := workertest.Start(t, filetest.Config(t, workertest.OneJob), "--http", "127.0.0.1:0")
	for path, want := range map[string]string{"/": "hello", "/api/v1/jobs": "hello", "/metrics": "solotick_", "/healthz": "ok"} {
		status, body := p.Get(path)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, body, want, path)
	}
	status, _ := p.Get("/nowhere")
	require.Equal(t, http.StatusNotFound, status)
}
