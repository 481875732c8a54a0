package log_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/log"
)

var run = jobs.Run{
	Namespace: "billing", Job: "hello", Replica: "a-1", Token: 1774747800250001, Attempt: 2,
	Tick: time.Date(2026, 3, 29, 1, 30, 0, 250_000_000, time.UTC),
}

func TestMessageIsLoggedWithTheRunsFacts(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, log.New(slog.New(slog.NewJSONHandler(&out, nil)), "hello, fleet")(t.Context(), run))

	var line map[string]any
	decoder := json.NewDecoder(&out)
	decoder.UseNumber() // a token has more digits than a float64 may keep
	require.NoError(t, decoder.Decode(&line))
	delete(line, "time")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "hello, fleet",
		"job": "hello", "tick": "2026-03-29T01:30:00.25Z", "replica": "a-1", "token": json.Number("1774747800250001"), "attempt": json.Number("2"),
	}, line)
}

func TestKeyOfAStoredScheduleIsLogged(t *testing.T) {
	var out bytes.Buffer
	keyed := run
	keyed.Key = "acme"
	require.NoError(t, log.New(slog.New(slog.NewTextHandler(&out, nil)), "hello")(t.Context(), keyed))
	require.Contains(t, out.String(), "key=acme")
}

func TestNilLoggerIsTheDefaultOne(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))

	require.NoError(t, log.New(nil, "hello")(t.Context(), run))
	require.Contains(t, out.String(), "msg=hello")
}

func TestRunThatHasEndedLogsNothingAndFails(t *testing.T) {
	var out bytes.Buffer
	lost := errors.New("lease lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(lost)
	require.Equal(t, lost, log.New(slog.New(slog.NewTextHandler(&out, nil)), "hello")(ctx, run))
	require.Empty(t, out.String())
}
