package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// fullPipe returns the writing end of a pipe that takes nothing more, and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	var fds [2]int
	require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	for {
		if _, err := unix.Write(fds[1], make([]byte, 4096)); err != nil {
			require.ErrorIs(t, err, unix.EAGAIN)
			break
		}
	}
	require.NoError(t, unix.SetNonblock(fds[1], false)) // a write to it now blocks for ever
	r, w := os.NewFile(uintptr(fds[0]), "read"), os.NewFile(uintptr(fds[1]), "write")
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return w
}

// TestLogThatNobodyReadsStopsNothing has two workers, one with a standard error that is full and
// that nobody reads.
func TestLogThatNobodyReadsStopsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	conf := "shutdown_grace: 2s\nlease: {ttl: 2s}\njobs:\n"
	for i := range 8 { // so many that each replica is the preferred owner of some
		conf += fmt.Sprintf("- {name: job-%d, schedule: \"@every 1s\", redis_stream: {stream: ticks, maxlen: 1000}}\n", i)
	}
	path := filetest.Config(t, conf)
	addr := freeAddr(t)
	unread := exec.Command(workertest.Program(t), "run", "--config", path, "--http", addr, "--redis", server.URL(),
		"--replica", "unread", "--log-level", "debug")
	unread.Stderr = fullPipe(t)
	require.NoError(t, unread.Start())
	ended := make(chan error, 1)
	go func() { ended <- unread.Wait() }()
	t.Cleanup(func() { _ = unread.Process.Kill() })
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--redis", server.URL(), "--replica", "second")
	second.Ready(http.StatusOK)

	client := server.Client(t)
	require.Eventually(t, func() bool {
		by := map[any]int{}
		for _, e := range client.XRange(t.Context(), "ticks", "-", "+").Val() {
			by[e.Values["replica"]]++
		}
		return by["unread"] >= 3 && by["second"] >= 3
	}, 2*workertest.Patience, 50*time.Millisecond, "each runs some ticks")
	response, err := http.Get("http://" + addr + "/readyz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	require.NoError(t, unread.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(workertest.Patience):
		require.Fail(t, "the worker does not end after its shutdown grace")
	}
	second.Signal(syscall.SIGTERM)
	require.Equal(t, 0, second.Exit())

	newest := map[any]int64{} // by job
	for _, e := range client.XRange(t.Context(), "ticks", "-", "+").Val() {
		job := e.Values["job"]
		tick, err := strconv.ParseInt(e.Values["tick_unix_ms"].(string), 10, 64)
		require.NoError(t, err)
		added, err := strconv.ParseInt(strings.Split(e.ID, "-")[0], 10, 64)
		require.NoError(t, err)
		if last, ok := newest[job]; ok {
			require.Equal(t, last+1000, tick, "each tick of %s once, and none left out", job)
		}
		require.Less(t, added-tick, int64(5000), "and on time")
		newest[job] = tick
	}
}

// freeAddr returns an address of this machine that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestReaderOfLogThatIsGoneStopsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(workertest.Program(t), "run", "--config", filetest.Config(t, streamJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, r.Close())
	client := server.Client(t)
	require.Eventually(t, func() bool { return client.XLen(t.Context(), "ticks").Val() >= 3 }, workertest.Patience, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
