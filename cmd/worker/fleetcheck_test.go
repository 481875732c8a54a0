package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/internal/redistest"
)

func TestDoctorLooksAtRealReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF())
	config := func(schedule string) string {
		return filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 1s}\njobs:\n"+
			"- {name: often, schedule: '"+schedule+"', log: {message: x}}\n- {name: in-us, schedule: '@yearly', groups: [us], log: {message: x}}\n")
	}
	path := config("@every 1s")
	diagnose := func() (code int, found map[string]doctor.Finding) {
		r := do(t, nil, "doctor", "--config", path, "--output", "json")
		var x doctor.Report
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &x), r.stderr)
		found = map[string]doctor.Finding{}
		for _, f := range x.Checks {
			found[f.Check] = f
		}
		return r.code, found
	}
	first := start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	second := start(t, config("@every 2s"), "--http", "127.0.0.1:0", "--replica", "other")
	twin := start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	for _, p := range []*process{first, second, twin} {
		p.ready(http.StatusOK)
	}
	require.Eventually(t, func() bool {
		code, f := diagnose()
		return code == 1 && f["definitions"].Result == doctor.Fail && f["served"].Result == doctor.Fail && f["replica-ids"].Result == doctor.Fail
	}, patience, 100*time.Millisecond)
	_, f := diagnose()
	require.Contains(t, f["definitions"].Finding, "replicas define 1 job differently: often (")
	require.Contains(t, f["served"].Finding, "in-us (groups us)")
	require.Equal(t, "2 processes have the id web", f["replica-ids"].Finding)
	require.Equal(t, doctor.OK, f["replica-clocks"].Result)
	require.Equal(t, doctor.OK, f["store-clock"].Result)
	require.Regexp(t, `\nweb \(2 processes\) `, do(t, nil, "status", "--config", path).stdout)
	warned := func(p *process) bool {
		return len(p.all("other processes use this replica's id; give each its own, or leave replica out")) == 1
	}
	require.Eventually(t, func() bool { return warned(first) && warned(twin) }, patience, 50*time.Millisecond)

	second.signal(syscall.SIGKILL)
	require.Eventually(t, func() bool {
		_, f := diagnose()
		return strings.Contains(f["heartbeats"].Finding, "other ended without signing off")
	}, patience, 100*time.Millisecond)
	_, f = diagnose()
	require.Equal(t, doctor.OK, f["definitions"].Result)
	for _, p := range []*process{first, twin} {
		p.signal(syscall.SIGTERM)
		require.Equal(t, 0, p.exit())
	}
}

func TestDoctorNoticesThatTheStoresClockStepped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF(), redistest.WithClock())
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 30s}\njobs:\n- {name: often, schedule: '@every 1s', log: {message: x}}\n")
	p := start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	p.ready(http.StatusOK)
	storeClock := func() (found doctor.Finding) {
		var x doctor.Report
		r := do(t, nil, "doctor", "--config", path, "--output", "json")
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &x), r.stderr)
		for _, f := range x.Checks {
			if f.Check == "store-clock" {
				found = f
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return storeClock().Result == doctor.OK }, patience, 50*time.Millisecond)
	server.SetClock(8 * time.Hour)
	require.Contains(t, p.ready(http.StatusServiceUnavailable), "check the time on the store's machine")
	require.Eventually(t, func() bool { return storeClock().Result == doctor.Fail }, patience, 50*time.Millisecond)
	require.Contains(t, storeClock().Finding, "Redis's clock stepped by 8h0m0s, as web observed")
	server.SetClock(0)
	p.ready(http.StatusOK)
	require.Eventually(t, func() bool { return storeClock().Result == doctor.OK }, patience, 50*time.Millisecond)
}
