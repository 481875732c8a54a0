package jobs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestAPayloadPrintsAsItsSize(t *testing.T) {
	run := jobs.Run{Job: "job", Payload: "hunter2"}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("run", "run", run, "payload", run.Payload, "in", map[string]any{"p": run.Payload})
	}
	asJSON, err := json.Marshal(run)
	require.NoError(t, err)
	text := log.String() + string(asJSON) + fmt.Sprint(run, &run, run.Payload) + fmt.Sprintf("%+v %#v %s %q %x", run, run, run.Payload, run.Payload, run.Payload)
	require.NotContains(t, text, "hunter2")
	require.NotContains(t, text, fmt.Sprintf("%x", "hunter2"))
	require.Contains(t, text, "7 bytes")
	require.Equal(t, "1 byte", fmt.Sprint(jobs.Payload("x")))
	require.Equal(t, "hunter2", string(run.Payload))
}
