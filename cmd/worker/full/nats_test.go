package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/natstest"
)

func TestWorkersOnNATSRunEachTickOnce(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, natstest.WithConf("authorization { user: app, password: s3cret }"))
	url := strings.Replace(srv.URL(), "//", "//app:s3cret@", 1) + "/ticks"
	path := filetest.Config(t, fmt.Sprintf(`
store: {url: %q}
lease: {ttl: 2s}
http: {addr: "127.0.0.1:0"}
jobs:
- {name: note, schedule: "@every 1s", misfire: all, overlap: allow, log: {message: noted}}
`, url))
	killed := workertest.Start(t, path, "--replica", "a")
	killed.Await("tick settled")
	other := workertest.Start(t, path, "--replica", "b")
	other.Ready(http.StatusOK)
	killed.Signal(syscall.SIGKILL)
	killed.Exit()
	for range 2 {
		other.Await("tick settled", "outcome", "succeeded")
	}
	srv.Restart()
	for range 2 {
		other.Await("tick settled", "outcome", "succeeded")
	}
	other.Ready(http.StatusOK)
	require.Contains(t, workertest.Do(t, nil, "status", "--config", path).Stdout, "note")
	ticks := map[any]bool{}
	for _, o := range workertest.Outcomes(t, path, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}
	found := workertest.Diagnosed(t, path, 0)
	require.Contains(t, found["reachable"].Finding, srv.Addr()+"/ticks answers in")
	for _, check := range []string{"copies", "durability", "room", "writes", "clock"} {
		require.Equal(t, doctor.OK, found[check].Result, "%s: %+v", check, found[check])
	}
	srv.Kill()
	found = workertest.Diagnosed(t, path, 1)
	require.Equal(t, doctor.Fail, found["reachable"].Result)
	require.Contains(t, found["reachable"].Change, "see that NATS runs")
	require.NotContains(t, other.Text(), "s3cret")
}

func TestRefusedUserOfNATSEndsTheStart(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, natstest.WithConf("authorization { user: app, password: s3cret }"))
	path := filetest.Config(t, "store: {url: '"+strings.Replace(srv.URL(), "//", "//app:wr0ng@", 1)+"'}\n"+workertest.OneJob)
	r := workertest.Do(t, nil, "run", "--config", path, "--http", "127.0.0.1:0")
	require.Equal(t, 1, r.Code)
	require.Regexp(t, "natslease: bucket solotick: not connected: nats: [Aa]uthorization [Vv]iolation", r.Stderr)
	require.Contains(t, r.Stderr, "check the user and the password")
	require.NotContains(t, r.Stderr, "wr0ng")
}
