package workertest

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
)

// OneJob is the jobs of a configuration.
const OneJob = `
jobs:
- name: hello
  schedule: "@every 1s"
  log: {message: hello}
`

// SettleOnce tests that workers on the store of a URL settle each tick once, although one is killed
// and the server restarts. It returns the path of their configuration.
func SettleOnce(t *testing.T, url string, restart func()) (config string) {
	t.Helper()
	config = filetest.Config(t, fmt.Sprintf(`
store: {url: %q}
lease: {ttl: 2s}
http: {addr: "127.0.0.1:0"}
jobs:
- {name: note, schedule: "@every 1s", misfire: all, overlap: allow, log: {message: noted}}
- {name: long, schedule: "@yearly", exec: {command: [sh, -c, 'test "$SOLOTICK_ATTEMPT" != 1 || exec sleep 60']}}
`, url))
	killed := Start(t, config, "--replica", "a")
	killed.Await("tick settled") // while it is alone: of two, one may claim every tick
	triggered := Do(t, nil, "trigger", "long", "--config", config)
	require.Equal(t, 0, triggered.Code, triggered.Stdout+triggered.Stderr)
	killed.Await("run started", "job", "long")
	survivor := Start(t, config, "--replica", "b")
	t.Cleanup(func() { assert.NotContains(t, survivor.Text(), "s3cret") })
	survivor.Ready(http.StatusOK)
	killed.Signal(syscall.SIGKILL)
	killed.Exit()
	survivor.Await("tick settled", "job", "long", "outcome", "succeeded") // it has taken the run over
	settle := func() {
		before := survivor.Settled("note")
		require.Eventually(t, func() bool { return survivor.Settled("note") > before+1 }, Patience, 20*time.Millisecond)
	}
	settle()
	restart()
	settle()
	survivor.Ready(http.StatusOK)
	require.Contains(t, Do(t, nil, "status", "--config", config).Stdout, "note")
	ticks := map[any]bool{}
	for _, o := range Outcomes(t, config, "note") {
		require.False(t, ticks[o["id"]], "settled twice: %v", o)
		ticks[o["id"]] = true
	}
	return config
}

// EmptyStore starts a server. config names its store in a configuration, and list returns the keys,
// tables or files in it.
type EmptyStore func(t *testing.T) (config string, list func() []string)

// MakeNothing tests that commands write nothing to any of the stores before a worker runs.
func MakeNothing(t *testing.T, stores map[string]EmptyStore) {
	t.Helper()
	for name, start := range stores {
		t.Run(name, func(t *testing.T) {
			config, list := start(t)
			path := filetest.Config(t, config+"\n"+OneJob)
			require.Empty(t, list())
			for _, args := range [][]string{
				{"status"}, {"describe", "hello"}, {"history", "hello"}, {"why", "hello"}, {"audit"}, {"trigger", "hello"}, {"pause", "hello"},
			} {
				r := Do(t, nil, append(args, "--config", path)...)
				require.Equal(t, 1, r.Code, r.Stdout+r.Stderr)
				require.Contains(t, r.Stderr, `nothing has run in namespace "default"`, args[0])
			}
			require.Equal(t, 0, Do(t, nil, "next", "--config", path).Code)
			r := Do(t, nil, "doctor", "--config", path)
			require.Equal(t, 0, r.Code, r.Stdout+r.Stderr)
			require.Empty(t, list())

			// A command with a mistyped password has not kept the right one out.
			path = filetest.Config(t, strings.Replace(config, "s3crte", "s3cret", 1)+"\nlease: {ttl: 2s}\nhttp: {addr: '127.0.0.1:0'}\n"+OneJob)
			p := Start(t, path)
			p.Await("tick settled")
			require.Equal(t, 0, Do(t, nil, "status", "--config", path).Code)
			require.NotEmpty(t, list())
		})
	}
}
