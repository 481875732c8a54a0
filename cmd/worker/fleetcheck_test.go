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
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
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
		r := workertest.Do(t, nil, "doctor", "--config", path, "--output", "json")
		var x doctor.Report
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &x), r.Stderr)
		found = map[string]doctor.Finding{}
		for _, f := range x.Checks {
			found[f.Check] = f
		}
		return r.Code, found
	}
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	second := workertest.Start(t, config("@every 2s"), "--http", "127.0.0.1:0", "--replica", "other")
	twin := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	for _, p := range []*workertest.Process{first, second, twin} {
		p.Ready(http.StatusOK)
	}
	require.Eventually(t, func() bool {
		code, f := diagnose()
		return code == 1 && f["definitions"].Result == doctor.Fail && f["served"].Result == doctor.Fail && f["replica-ids"].Result == doctor.Fail
	}, workertest.Patience, 100*time.Millisecond)
	_, f := diagnose()
	require.Contains(t, f["definitions"].Finding, "replicas define 1 job differently: often (")
	require.Contains(t, f["served"].Finding, "in-us (groups us)")
	require.Equal(t, "2 processes have the id web", f["replica-ids"].Finding)
	require.Equal(t, doctor.OK, f["replica-clocks"].Result)
	require.Equal(t, doctor.OK, f["store-clock"].Result)
	require.Regexp(t, `\nweb \(2 processes\) `, workertest.Do(t, nil, "status", "--config", path).Stdout)
	warned := func(p *workertest.Process) bool {
		return len(p.All("other processes use this replica's id; give each its own, or leave replica out")) == 1
	}
	require.Eventually(t, func() bool { return warned(first) && warned(twin) }, workertest.Patience, 50*time.Millisecond)

	second.Signal(syscall.SIGKILL)
	require.Eventually(t, func() bool {
		_, f := diagnose()
		return strings.Contains(f["heartbeats"].Finding, "other ended without signing off")
	}, workertest.Patience, 100*time.Millisecond)
	_, f = diagnose()
	require.Equal(t, doctor.OK, f["definitions"].Result)
	for _, p := range []*workertest.Process{first, twin} {
		p.Signal(syscall.SIGTERM)
		require.Equal(t, 0, p.Exit())
	}
}

func TestDoctorNoticesThatTheStoresClockStepped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF(), redistest.WithClock())
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 30s}\njobs:\n- {name: often, schedule: '@every 1s', log: {message: x}}\n")
	p := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "web")
	p.Ready(http.StatusOK)
	storeClock := func() (found doctor.Finding) {
		var x doctor.Report
		r := workertest.Do(t, nil, "doctor", "--config", path, "--output", "json")
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &x), r.Stderr)
		for _, f := range x.Checks {
			if f.Check == "store-clock" {
				found = f
			}
		}
		return found
	}
	require.Eventually(t, func() bool { return storeClock().Result == doctor.OK }, workertest.Patience, 50*time.Millisecond)
	server.SetClock(8 * time.Hour)
	require.Contains(t, p.Ready(http.StatusServiceUnavailable), "check the time on the store's machine")
	require.Eventually(t, func() bool { return storeClock().Result == doctor.Fail }, workertest.Patience, 50*time.Millisecond)
	require.Contains(t, storeClock().Finding, "Redis's clock stepped by 8h0m0s, as web observed")
	server.SetClock(0)
	p.Ready(http.StatusOK)
	require.Eventually(t, func() bool { return storeClock().Result == doctor.OK }, workertest.Patience, 50*time.Millisecond)
}
