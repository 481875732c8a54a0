package registry

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/exec"
	jobhttp "github.com/solotick/solotick/jobs/http"
)

func TestFaultsHaveTheLineOfTheirJob(t *testing.T) {
	spec := jobs.Defaults()
	spec.Name, spec.Schedule = "a", "@hourly"
	bad := spec
	bad.Name, bad.Timeout = "b b", -1
	_, err := New(&config.Config{Jobs: []config.Job{
		{Spec: spec, Line: 3, Log: config.NewSecret(config.Log{Message: "x"})},
		{Spec: bad, Line: 7, Exec: config.NewSecret(exec.Command{Args: []string{"true"}, KillGrace: -1, Env: map[string]string{"A=": "hunter2"}})},
		{Spec: spec, Line: 11, HTTP: config.NewSecret(jobhttp.Call{URL: "https://example.com", Success: []jobhttp.StatusRange{{From: 99, To: 100}}})},
		{Spec: spec, Line: 15},
		{Spec: spec, Line: 19, Log: config.NewSecret(config.Log{Message: "x"})},
		{Spec: spec, Line: 23, RedisStream: config.NewSecret(config.RedisStream{MaxLen: -1, Fields: map[string]string{"job": "hunter2"}})},
	}}, "f.yaml", nil)
	_, ok := errors.AsType[*exitcode.ConfigError](err)
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

func TestStreamsNeedAWorkerWithRedis(t *testing.T) {
	cfg, err := config.Parse("f", []byte("redis: {url: redis://localhost:1}\njobs: [{name: a, schedule: '@hourly', redis_stream: {stream: s}}]"), nil)
	require.NoError(t, err)
	_, err = New(cfg, "f", new(Runtime))
	require.EqualError(t, err, "f:2:1: jobs[0].redis_stream: needs Redis, and this worker was started without one: restart it")
}

func TestReloadsLeaveNothingBehind(t *testing.T) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	defer server.Close()
	cfg, err := config.Parse("f", []byte(`
jobs:
- {name: a, schedule: "@hourly", http: {url: "`+server.URL+`"}}
- {name: b, schedule: "@hourly", log: {message: b}}
`), nil)
	require.NoError(t, err)
	once := func() {
		registry, err := New(cfg, "f", &Runtime{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		for _, job := range registry.All() {
			require.NoError(t, job.Handler()(t.Context(), jobs.Run{Job: job.Name(), Tick: time.Now()}))
		}
	}
	once()
	before := goruntime.NumGoroutine()
	for range 100 {
		once()
	}
	require.Equal(t, 101, served)
	require.Eventually(t, func() bool { return goruntime.NumGoroutine() <= before+5 }, 30*time.Second, 10*time.Millisecond,
		"of connections that are kept")
}
