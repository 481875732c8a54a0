package sdnotify

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listen opens a socket as systemd does, and returns a function that reads a notification.
func listen(t *testing.T, name string) (next func() string) {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return func() string {
		text := make([]byte, 4096)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		n, err := conn.Read(text)
		require.NoError(t, err)
		return string(text[:n])
	}
}

func variables(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
}

func TestTheStatusComesWithSignsOfLife(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	next := listen(t, socket)
	n, err := FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "20000"}))
	require.NoError(t, err)
	require.NoError(t, n.Ready())
	require.Equal(t, "READY=1", next())

	statuses := make(chan string, 2)
	statuses <- "starting"
	statuses <- "two\nlines"
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Beat(ctx, func() string {
			select {
			case s := <-statuses:
				return s
			default:
				return "two\nlines"
			}
		})
	}()
	require.Equal(t, "STATUS=starting\nWATCHDOG=1", next())
	require.Equal(t, "STATUS=two lines\nWATCHDOG=1", next())
	require.Equal(t, "WATCHDOG=1", next(), "a status that has not changed is sent once")
	stop()
	<-ended
}

func TestAStuckWorkerSendsNoSignOfLife(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	next := listen(t, socket)
	n, err := FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "10000"}))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stuck, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); n.Beat(ctx, func() string { <-stuck; return "" }) }()
	time.AfterFunc(100*time.Millisecond, func() { require.NoError(t, n.Stopping()) })
	require.Equal(t, "STOPPING=1", next(), "nothing before it")
	stop()
	close(stuck)
	<-ended
}

func TestWithoutSystemdNothingIsSent(t *testing.T) {
	n, err := FromEnvironment(variables(nil))
	require.NoError(t, err)
	require.Nil(t, n)
	require.NoError(t, n.Ready())
	require.NoError(t, n.Stopping())
	n.Beat(t.Context(), nil)
}

func TestAWatchdogOfAnotherProcessIsNotFed(t *testing.T) {
	n, err := FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}))
	require.NoError(t, err)
	require.Zero(t, n.watchdog)
}

func TestWrongVariablesAreNamed(t *testing.T) {
	_, err := FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": "vsock:2:1"}))
	require.ErrorContains(t, err, `NOTIFY_SOCKET: "vsock:2:1" must be`)
	_, err = FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "soon"}))
	require.ErrorContains(t, err, `WATCHDOG_USEC: "soon" must be`)
	n, err := FromEnvironment(variables(map[string]string{"NOTIFY_SOCKET": "/nowhere/socket"}))
	require.NoError(t, err)
	require.ErrorContains(t, n.Ready(), "notify systemd")
}
