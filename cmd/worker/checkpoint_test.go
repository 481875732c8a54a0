package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// export is a job that writes rows into the file of its last argument, and makes a checkpoint after
// each. The first attempt never ends; a later one writes three rows.
const export = `
at=${SOLOTICK_POSITION:-0}; end=$((at + 3)); [ "$SOLOTICK_ATTEMPT" -gt 1 ] || end=1000000
while [ $at -lt $end ]; do
  at=$((at + 1)); echo "$SOLOTICK_ATTEMPT $at" >>"$0"
  printf "%s\t%s\t%s\n" $at 40 "row $at" >&"$SOLOTICK_CHECKPOINT_FD"; sleep 0.1
done`

// rows returns the attempt and the number of each row.
func rows(t *testing.T, path string) (list [][2]int) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		attempt, row, _ := strings.Cut(strings.TrimSpace(line), " ")
		a, err := strconv.Atoi(attempt)
		require.NoError(t, err)
		n, err := strconv.Atoi(row)
		require.NoError(t, err)
		list = append(list, [2]int{a, n})
	}
	return list
}

func TestKilledExportGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			file := filepath.Join(t.TempDir(), "rows")
			script := filepath.Join(t.TempDir(), "export.sh")
			require.NoError(t, os.WriteFile(script, []byte(export), 0o600))
			path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 3s}\nshutdown_grace: 0s\njobs:\n"+
				"- {name: export, schedule: '@triggered', exec: {command: [sh, -c, '. "+script+"', "+file+"]}}\n")
			ask := func(args ...string) string {
				r := workertest.Do(t, nil, append(args, "--config", path)...)
				require.Equal(t, 0, r.Code, r.Stderr)
				return r.Stdout
			}
			first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
			first.Ready(http.StatusOK)
			ask("trigger", "export")
			run := first.Await("run started", "job", "export")
			second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
			second.Ready(http.StatusOK)
			require.Eventually(t, func() bool {
				return strings.Contains(ask("describe", "export"), ", 40 % done: row ")
			}, workertest.Patience, 50*time.Millisecond)
			_, body := second.Get("/api/v1/jobs/export")
			require.Contains(t, body, `"percent":40,"text":"row `)

			time.Sleep(2 * time.Second)
			first.Signal(sig)
			first.Exit()
			second.Await("tick settled", "job", "export", "tick", run["tick"], "outcome", "succeeded")
			list := rows(t, file)
			before, after := list[len(list)-4], list[len(list)-3]
			require.Equal(t, [2]int{1, 2}, [2]int{before[0], after[0]}, "%v", list)
			require.LessOrEqual(t, after[1], before[1]+1, "no row is left out")
			// A third of the TTL, in which 10 rows were written at most; and one of which the line was not read.
			lost := 11
			if name == "stopped" {
				lost = 1
			}
			require.GreaterOrEqual(t, after[1], before[1]+1-lost)
			require.Contains(t, ask("history", "export"), "succeeded")
		})
	}
}
