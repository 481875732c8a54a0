package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/internal/redistest"
)

// gate is a writer that blocks, or fails, as long as it is told to.
type gate struct {
	open  chan struct{}
	mu    sync.Mutex
	fails bool
	lines []string
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails {
		return 0, errors.New("no")
	}
	g.lines = append(g.lines, string(p))
	return len(p), nil
}

func (g *gate) set(fails bool) {
	g.mu.Lock()
	g.fails = fails
	g.mu.Unlock()
}

func bareText(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLogNeverWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := newLogWriter(g, bareText)
		line := strings.Repeat("x", 1023) + "\n"
		const wrote = 10_000
		for range wrote {
			n, err := io.WriteString(l, line)
			require.NoError(t, err)
			require.Len(t, line, n)
		}
		began := time.Now()
		close(g.open)
		l.flush(time.Second)
		require.Equal(t, began, time.Now())
		require.Equal(t, line, g.lines[0])
		lost := l.dropped.Load()
		require.Positive(t, lost)
		require.Equal(t, `level=WARN msg="log lines dropped: nobody read them in time" count=`+strconv.FormatInt(lost, 10)+"\n", g.lines[1])
		require.Len(t, g.lines, wrote-int(lost)+1)
	})
}

func TestLogFlushIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := newLogWriter(g, bareText)
		_, _ = io.WriteString(l, "line\n")
		began := time.Now()
		l.flush(time.Second)
		require.Equal(t, time.Second, time.Since(began))
		close(g.open)
	})
}

func TestLogLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), fails: true}
		close(g.open)
		l := newLogWriter(g, bareText)
		for range 3 {
			_, _ = io.WriteString(l, "lost\n")
		}
		synctest.Wait()
		g.set(false)
		_, _ = io.WriteString(l, "good\n")
		synctest.Wait()
		require.Equal(t, []string{`level=WARN msg="log lines dropped: nobody read them in time" count=3` + "\n", "good\n"}, g.lines)
		require.EqualValues(t, 3, l.dropped.Load())
	})
}

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
	require.NoError(t, unix.SetNonblock(fds[1], false)) // whoever writes to it now waits for ever
	r, w := os.NewFile(uintptr(fds[0]), "read"), os.NewFile(uintptr(fds[1]), "write")
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return w
}

// TestLogThatNobodyReadsStopsNothing has two workers, one with a standard error that is full and that nobody reads.
func TestLogThatNobodyReadsStopsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	conf := "shutdown_grace: 2s\nlease: {ttl: 2s}\njobs:\n"
	for i := range 8 { // so many that each replica is the preferred owner of some
		conf += fmt.Sprintf("- {name: job-%d, schedule: \"@every 1s\", redis_stream: {stream: ticks, maxlen: 1000}}\n", i)
	}
	path := file(t, conf)
	addr := freeAddr(t)
	unread := exec.Command(program(t), "run", "--config", path, "--http", addr, "--redis", server.URL(),
		"--replica", "unread", "--log-level", "debug")
	unread.Stderr = fullPipe(t)
	require.NoError(t, unread.Start())
	ended := make(chan error, 1)
	go func() { ended <- unread.Wait() }()
	t.Cleanup(func() { _ = unread.Process.Kill() })
	second := start(t, path, "--http", "127.0.0.1:0", "--redis", server.URL(), "--replica", "second")
	second.ready(http.StatusOK)

	client := server.Client(t)
	require.Eventually(t, func() bool {
		by := map[any]int{}
		for _, e := range client.XRange(t.Context(), "ticks", "-", "+").Val() {
			by[e.Values["replica"]]++
		}
		return by["unread"] >= 3 && by["second"] >= 3
	}, 2*patience, 50*time.Millisecond, "each runs some ticks")
	response, err := http.Get("http://" + addr + "/readyz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	require.NoError(t, unread.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "the worker does not end after its shutdown grace")
	}
	second.signal(syscall.SIGTERM)
	require.Equal(t, 0, second.exit())

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
	cmd := exec.Command(program(t), "run", "--config", file(t, streamJob), "--http", "127.0.0.1:0", "--redis", server.URL())
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, r.Close())
	client := server.Client(t)
	require.Eventually(t, func() bool { return client.XLen(t.Context(), "ticks").Val() >= 3 }, patience, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
