package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

// TestSystemdIsNotifiedOfStartLifeAndStop starts the worker as systemd starts a unit of
// Type=notify, and reads the socket.
func TestSystemdIsNotifiedOfStartLifeAndStop(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: socket})
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	// await reads from the socket until a notification contains the line.
	await := func(line string) {
		t.Helper()
		for text := make([]byte, 4096); ; {
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(workertest.Patience)))
			n, err := conn.Read(text)
			require.NoError(t, err, line)
			for got := range strings.SplitSeq(string(text[:n]), "\n") {
				if got == line {
					return
				}
			}
		}
	}

	seen := filepath.Join(t.TempDir(), "environment")
	config := filetest.Config(t, "http: {addr: '127.0.0.1:0'}\njobs:\n- {name: print, schedule: '@every 1s', exec: {command: [sh, -c, 'env >"+seen+".new; mv "+seen+".new "+seen+"']}}\n")
	cmd := exec.Command(workertest.Program(t), "run", "--config", config, "--log-format", "json")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=200000")
	p := workertest.Watch(t, cmd)
	await("READY=1")
	await("STATUS=ready")
	await("WATCHDOG=1")
	await("WATCHDOG=1")
	require.Eventually(t, func() bool { _, err := os.Stat(seen); return err == nil }, workertest.Patience, 20*time.Millisecond)
	environment, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.NotContains(t, string(environment), "NOTIFY_SOCKET", "a command could speak for the worker")
	require.NotContains(t, string(environment), "WATCHDOG_USEC")

	require.NoError(t, p.Cmd.Process.Signal(os.Interrupt))
	await("STOPPING=1")
	<-p.Ended
	require.Zero(t, p.Cmd.ProcessState.ExitCode(), p.Text())
}
