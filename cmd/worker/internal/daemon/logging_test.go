package daemon

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogFormatFollowsTheOutput(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	none := func(string) (string, bool) { return "", false }
	newLogger(write, "text", slog.LevelInfo, none).Info("hello", slog.Duration("took", time.Second))
	require.NoError(t, write.Close())
	text, err := io.ReadAll(read)
	require.NoError(t, err)
	require.Regexp(t, `^time=\S+ level=INFO msg=hello took=1s\n$`, string(text), "without colours")

	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = terminal.Close() }()
	handler := newLogger(terminal, "text", slog.LevelInfo, none).Handler()
	require.NotEqual(t, fmt.Sprintf("%T", slog.NewTextHandler(nil, nil)), fmt.Sprintf("%T", handler), "colours")

	var out bytes.Buffer
	logger := newLogger(&out, "json", slog.LevelWarn, none)
	logger.Info("quiet")
	tick := time.Date(2026, 3, 1, 3, 0, 0, 0, time.FixedZone("CET", 3600))
	logger.Warn("hello", slog.Duration("took", 1500*time.Millisecond), slog.Time("tick", tick))
	require.Regexp(t, `^{"time":"\S+Z","level":"WARN","msg":"hello","took":"1.5s","tick":"2026-03-01T02:00:00.000Z"}\n$`, out.String())
}
