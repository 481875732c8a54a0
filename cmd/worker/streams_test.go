package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs/redisstream"
)

const streamJob = `
jobs:
- name: announce
  schedule: "@every 1s"
  redis_stream: {stream: ticks, maxlen: 100, fields: {zone: "${ZONE:-eu}"}}
`

func TestAStreamNeedsRedis(t *testing.T) {
	path := filetest.Config(t, streamJob)
	for _, command := range []string{"validate", "next", "run"} {
		r := workertest.Do(t, nil, command, "--config", path)
		require.Equal(t, 2, r.Code, command)
		require.Equal(t, path+":3:1: jobs[0].redis_stream: needs Redis, and none is configured: set redis.url, or start with run --redis URL\n",
			r.Stderr, command)
	}
	path = filetest.Config(t, "redis: {url: redis://localhost:1}"+streamJob)
	require.Equal(t, workertest.Result{Stdout: path + ": 1 job, no errors\n"}, workertest.Do(t, nil, "validate", "--config", path), "without asking it")
}

func TestOneOfTwoWorkersAddsEachTick(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, streamJob)
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--redis", server.URL(), "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--redis", server.URL(), "--replica", "second")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	client := server.Client(t)
	require.Eventually(t, func() bool { return client.XLen(t.Context(), "ticks").Val() >= 3 }, workertest.Patience, 10*time.Millisecond)
	for _, p := range []*workertest.Process{first, second} {
		p.Signal(syscall.SIGTERM)
		require.Equal(t, 0, p.Exit())
	}

	entries := client.XRange(t.Context(), "ticks", "-", "+").Val()
	succeeded := len(first.All("tick settled", "outcome", "succeeded")) + len(second.All("tick settled", "outcome", "succeeded"))
	require.GreaterOrEqual(t, len(entries), succeeded)
	require.Positive(t, succeeded)
	ticks := map[any]bool{}
	for _, e := range entries {
		require.False(t, ticks[e.Values["tick"]], "added twice: %v", e.Values)
		ticks[e.Values["tick"]] = true
		require.Equal(t, "announce", e.Values["job"])
		require.Equal(t, "eu", e.Values["zone"])
	}
}

func TestFileAndStreamAgreeOnStreams(t *testing.T) {
	refused := 0
	for _, stream := range []redisstream.Stream{
		{Name: "s"}, {Name: ""}, {Name: "a}"}, {Name: "{a}"}, {Name: "{}"}, {Name: "a}b{c}"}, {Name: "{a"}, {Name: "{}{a}"},
		{Name: "s", MaxLen: 1}, {Name: "s", MaxLen: -1},
		{Name: "s", Fields: map[string]string{"": ""}}, {Name: "s", Fields: map[string]string{"Job": ""}},
		{Name: "s", Fields: map[string]string{"namespace": ""}}, {Name: "s", Fields: map[string]string{"job": ""}},
		{Name: "s", Fields: map[string]string{"tick": ""}}, {Name: "s", Fields: map[string]string{"tick_unix_ms": ""}},
		{Name: "s", Fields: map[string]string{"tick_id": ""}}, {Name: "s", Fields: map[string]string{"fencing_token": ""}},
		{Name: "s", Fields: map[string]string{"attempt": ""}}, {Name: "s", Fields: map[string]string{"replica": ""}},
		{Name: "s", Fields: map[string]string{"token": ""}},
	} {
		fields, err := json.Marshal(stream.Fields)
		require.NoError(t, err)
		text := fmt.Sprintf("jobs: [{name: a, schedule: '@daily', redis_stream: {stream: %q, maxlen: %d, fields: %s}}]",
			stream.Name, stream.MaxLen, fields)
		_, err = config.Parse("f", []byte(text), nil)
		require.Equal(t, stream.Validate() == nil, err == nil, "%s: %v", text, err)
		if err != nil {
			refused++
		}
	}
	require.Equal(t, 14, refused)
}
