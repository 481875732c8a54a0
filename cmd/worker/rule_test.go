package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// What the commands ask for is done by workers that are processes of their own.
func TestWorkersObeyCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\njobs:\n"+
		"- {name: rare, schedule: '@yearly', log: {message: x}}\n"+
		"- {name: often, schedule: '@every 1s', log: {message: x}}\n")
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	first.Ready(http.StatusOK)
	second.Ready(http.StatusOK)
	ask := func(args ...string) string {
		r := workertest.Do(t, map[string]string{"USER": "ops1"}, append(args, "--config", path)...)
		require.Equal(t, 0, r.Code, r.Stderr)
		return r.Stdout
	}

	out := ask("trigger", "rare", "--wait")
	id, outcome, _ := strings.Cut(out, "\n")
	require.Regexp(t, `^succeeded on (first|second) after .*, attempt 1\n$`, outcome)
	require.Regexp(t, `It was triggered by hand, by \S+ at [0-9:]+\. \S+ (started|has run) it`, ask("why", "rare", id))
	require.Contains(t, ask("history", "rare"), "triggered")

	ask("pause", "often", "--reason", "enough")
	require.Eventually(t, func() bool {
		return strings.Contains(ask("why", "often"), `skipped because the job is paused: by ops1-`)
	}, workertest.Patience, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		status := ask("status")
		return strings.Contains(status, "paused by ops1-") && strings.Contains(status, "\nfirst ") && strings.Contains(status, "\nsecond ")
	}, workertest.Patience, 100*time.Millisecond)
	ask("resume", "often")
	settled := func() int {
		return len(first.All("tick settled", "job", "often")) + len(second.All("tick settled", "job", "often"))
	}
	before := settled()
	require.Eventually(t, func() bool { return settled() > before }, workertest.Patience, 100*time.Millisecond)
	require.Len(t, append(first.All("tick settled", "job", "rare"), second.All("tick settled", "job", "rare")...), 1)
}
