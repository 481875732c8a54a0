package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease/redislease"
)

// site is a Redis, a configuration that names it, and a store by which a test does what replicas
// do.
type site struct {
	*testing.T
	server *redistest.Server
	path   string
	store  *redislease.Store
	begin  int64 // a mark to begin with, Unix ms
}

const siteJobs = `
jobs:
- {name: nightly-report, schedule: "0 2 31 12 *", timezone: Asia/Tokyo, log: {message: x}, rate: 1/10m}
- {name: sync-orders, schedule: "@every 1h", log: {message: x}}
`

func newSite(t *testing.T, opts ...redistest.Option) *site {
	t.Helper()
	s := &site{T: t, server: redistest.Start(t, opts...), begin: time.Now().Add(-time.Hour).Truncate(time.Second).UnixMilli()}
	s.path = filetest.Config(t, fmt.Sprintf("namespace: billing\nredis: {url: %q}\n%s", s.server.URL(), siteJobs))
	client := s.server.Client(t)
	var err error
	s.store, err = redislease.New(client, "billing", redislease.WithTimeout(10*time.Second))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	_, _, _ = s.store.Time(t.Context()) // something has run there, where Redis serves it
	return s
}

// ask calls a command.
func (s *site) ask(args ...string) workertest.Result {
	s.Helper()
	return workertest.Do(s.T, map[string]string{"USER": "ops1"}, append(args, "--config", s.path)...)
}

// json calls a command that succeeds, and reads the JSON that it prints.
func (s *site) json(v any, args ...string) {
	s.Helper()
	r := s.ask(append(args, "--output", "json")...)
	require.Equal(s, 0, r.Code, r.Stderr)
	require.NoError(s, json.Unmarshal([]byte(r.Stdout), v), r.Stdout)
}

func (s *site) contended(names ...string) {
	s.Helper()
	for _, name := range names {
		_, err := s.store.Sync(s.Context(), []protocol.Sync{{Name: name, Watermark: s.begin}})
		require.NoError(s, err)
	}
}

// defined makes the records that replicas with this policy do.
func (s *site) defined(p protocol.Policy, names ...string) {
	s.Helper()
	for _, name := range names {
		_, err := s.store.Sync(s.Context(), []protocol.Sync{{Name: name, Watermark: s.begin, Policy: p, Defines: true}})
		require.NoError(s, err)
	}
}

// claim claims a tick so many ms after the beginning, as a replica called r1.
func (s *site) claim(name string, tick int64) protocol.Grant {
	s.Helper()
	g, err := claimAs(s.Context(), s.store, name, tick, "r1")
	require.NoError(s, err)
	return g
}

func claimAs(ctx context.Context, store protocol.Store, name string, tick int64, holder string) (protocol.Grant, error) {
	c := protocol.Claim{Name: name, Tick: tick, Holder: holder, Request: fmt.Sprint("r-", tick), TTL: time.Minute, Overlap: protocol.OverlapSkip}
	a, err := store.Claim(ctx, c)
	if err == nil && a.Status != protocol.Granted && a.Status != protocol.Skipped {
		err = fmt.Errorf("%s", a.Status)
	}
	return protocol.Grant{Name: name, Tick: tick, Holder: holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, TTL: c.TTL}, err
}

func (s *site) settle(g protocol.Grant, outcome protocol.Outcome, note wire.Note) {
	s.Helper()
	g.Note = note.String()
	require.NoError(s, s.store.Settle(s.Context(), g, outcome))
}

func (s *site) announce(r heartbeat.Replica) {
	s.Helper()
	require.NoError(s, s.store.SendHeartbeat(s.Context(), r.ID, r.Encode(), time.Minute))
}

// asksFleet are the commands that query or control a fleet.
var asksFleet = map[string][]string{
	"status": nil, "doctor": nil, "history": {"sync-orders"}, "why": {"sync-orders"}, "trigger": {"sync-orders"},
	"pause": {"sync-orders"}, "resume": {"sync-orders"}, "repair": {"sync-orders"}, "audit": nil,
}

func TestMemoryOfAnotherWorkerCannotBeAsked(t *testing.T) {
	path := filetest.Config(t, "store: {url: 'memory:'}\n"+siteJobs)
	for command, args := range asksFleet {
		t.Run(command, func(t *testing.T) {
			r := workertest.Do(t, nil, append([]string{command, "--config", path}, args...)...)
			require.Equal(t, 2, r.Code)
			require.Empty(t, r.Stdout)
			require.Contains(t, r.Stderr, "store.url: the memory of a worker is known only to that worker")
		})
	}
}

func TestUnreachableRedisFailsWithAHint(t *testing.T) {
	s := newSite(t)
	s.server.Kill()
	for command, args := range asksFleet {
		t.Run(command, func(t *testing.T) {
			r := s.ask(append([]string{command}, args...)...)
			require.Equal(t, 1, r.Code)
			require.Contains(t, r.Stdout+r.Stderr, "check that Redis runs, and its address in redis.url")
			require.Contains(t, r.Stderr, s.server.Addr())
		})
	}
}

func TestCommandsWaitLongerThanAShortTTL(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.contended("sync-orders")
	slow := proxytest.New(t, s.server.Addr())
	served := heartbeat.Replica{ID: "r1", Jobs: map[string]string{"nightly-report": "a", "sync-orders": "a"}}
	require.NoError(t, s.store.SendHeartbeat(t.Context(), served.ID, served.Encode(), time.Hour))
	slow.Delay(200*time.Millisecond, proxytest.Replies) // more than a sixth of the TTL
	path := filetest.Config(t, fmt.Sprintf("namespace: billing\nredis: {url: 'redis://%s'}\nlease: {ttl: 1s}\n%s", slow.Addr(), siteJobs))
	for command, args := range asksFleet {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			r := workertest.Do(t, nil, append([]string{command, "--config", path}, args...)...)
			require.Equal(t, 0, r.Code, r.Stdout+r.Stderr)
		})
	}
}

func TestWrongFleetCommandExitsWith2(t *testing.T) {
	s := newSite(t)
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"elsewhere": "a"}})
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"output":             {[]string{"status", "--output", "yaml"}, []string{`--output: "yaml" must be text or json`}},
		"argument":           {[]string{"status", "x"}, []string{`"x" is not a job of this configuration`}},
		"no job":             {[]string{"history"}, []string{"history takes the name of one job, and got 0 arguments"}},
		"two jobs":           {[]string{"pause", "a", "b"}, []string{"pause takes the name of one job, and got 2 arguments"}},
		"misspelt job":       {[]string{"history", "sync-odrers"}, []string{`"sync-odrers" is not a job`, "did you mean sync-orders?"}},
		"part of a job":      {[]string{"trigger", "report"}, []string{"did you mean nightly-report?"}},
		"job of a replica":   {[]string{"pause", "elswhere"}, []string{"did you mean elsewhere?"}},
		"unknown job":        {[]string{"why", "zzz"}, []string{`"zzz" is not a job`, "there are: elsewhere, nightly-report, sync-orders"}},
		"count":              {[]string{"history", "sync-orders", "-n", "0"}, []string{"-n: 0 must be from 1 to 1000"}},
		"tick":               {[]string{"why", "sync-orders", "soon"}, []string{`"soon" must be a time`}},
		"tick of another":    {[]string{"why", "sync-orders", "billing/nightly-report/1795175158387"}, []string{"or a tick's id of this job"}},
		"two ticks":          {[]string{"why", "sync-orders", "02:00", "03:00"}, []string{"got 3 arguments"}},
		"by":                 {[]string{"resume", "sync-orders", "--by", "a b"}, []string{`--by: "a b" must start with a letter or digit`}},
		"long reason":        {[]string{"pause", "sync-orders", "--reason", strings.Repeat("x", 1025)}, []string{"--reason: has 1025 bytes, must have at most 1024"}},
		"long reason, by":    {[]string{"trigger", "sync-orders", "--by", "?", "--reason", strings.Repeat("x", 1025)}, []string{"--reason: has 1025", `--by: "?" must`}},
		"acts":               {[]string{"audit", "-n", "100001"}, []string{"-n: 100001 must be from 1 to 100000"}},
		"budget":             {[]string{"audit", "--budget", "2GB"}, []string{`"2GB" must be a number of bytes such as 65536, 64KiB or 16MiB`}},
		"small budget":       {[]string{"audit", "--budget", "64KiB"}, []string{"--budget: 64 KiB must be from 128 KiB to 64 MiB"}},
		"key, by":            {[]string{"trigger", "sync-orders", "--key", "a b", "--by", "?"}, []string{`--key: "a b" must`, `--by: "?" must`}},
		"window without key": {[]string{"trigger", "sync-orders", "--window", "1h"}, []string{"--window: needs a --key"}},
		"window":             {[]string{"trigger", "sync-orders", "--key", "k", "--window", "721h"}, []string{`--window: "721h0m0s" must be from 1ms to 720h0m0s`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.ask(test.args...)
			require.Equal(t, 2, r.Code, r.Stderr)
			require.Empty(t, r.Stdout)
			for _, want := range test.want {
				require.Contains(t, r.Stderr, want)
			}
		})
	}
}

func TestTheFlagsSayWhichFleet(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	_, err := s.store.Pause(t.Context(), "sync-orders", protocol.Pause{By: "ops1"})
	require.NoError(t, err)
	path := filetest.Config(t, siteJobs)
	status := func(args ...string) workertest.Result {
		return workertest.Do(t, nil, append([]string{"status", "--config", path, "--redis", s.server.URL()}, args...)...)
	}
	require.Contains(t, status("--namespace", "billing").Stdout, "paused by ops1")
	require.Contains(t, status().Stderr, `nothing has run in namespace "default"`)
}

func TestJobOnlyReplicasKnowCanBePaused(t *testing.T) {
	s := newSite(t)
	s.contended("elsewhere")
	s.announce(heartbeat.Replica{ID: "r1", Jobs: map[string]string{"elsewhere": "a"}})
	r := s.ask("pause", "elsewhere")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, s.ask("status").Stdout, "not in this configuration")
	require.Equal(t, 0, s.ask("history", "elsewhere").Code)
	require.Equal(t, 0, s.ask("why", "elsewhere").Code)
}

// raw looks inside.
func (s *site) raw() *redis.Client { return s.server.Client(s.T) }
