package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

func TestWorkerNamesTheOneThatHasWhatItLacks(t *testing.T) {
	for field, config := range map[string]string{
		"store.url":        "store: {url: 'postgres://solotick:s3cret@db-1/solotick'}\n",
		"tracing.endpoint": "tracing: {endpoint: 'http://collector:4318'}\n",
	} {
		path := filetest.Config(t, config+workertest.OneJob)
		for _, command := range [][]string{{"validate"}, {"run", "--http", "127.0.0.1:0"}, {"status"}} {
			if field != "store.url" && command[0] == "status" {
				continue // which exports nothing
			}
			r := workertest.Do(t, nil, append(command, "--config", path)...)
			require.Equal(t, 2, r.Code, r.Stdout+r.Stderr)
			require.Contains(t, r.Stderr, field)
			require.Contains(t, r.Stderr, "github.com/solotick/solotick/cmd/worker/full")
			require.NotContains(t, r.Stderr, "s3cret")
		}
	}
}

// A platform may set them for every process.
func TestVariablesOfOpenTelemetryDoNotStopAWorkerWithoutIt(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(workertest.Program(t), "run", "--config", filetest.Config(t, workertest.OneJob), "--log-format", "json", "--http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	p := workertest.Watch(t, cmd)
	require.Contains(t, p.Await("spans are not exported")["error"], "cmd/worker/full")
	p.Await("tick settled")
}
