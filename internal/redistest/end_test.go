package redistest_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
)

func TestServerEndsWithItsTest(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var addr string
	var client *redis.Client

	t.Run("test", func(t *testing.T) {
		server := redistest.Start(t)
		addr, client = server.Addr(), server.Client(t)
		require.NoError(t, client.Ping(t.Context()).Err())
		server.Freeze()
	})

	require.True(t, refuses(addr))
	require.ErrorIs(t, client.Ping(t.Context()).Err(), redis.ErrClosed)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// startAndWait makes this test binary a process that starts a server, prints its address and waits
// to be killed.
const startAndWait = "REDISTEST_START_AND_WAIT"

func TestServerEndsWithItsTestProcess(t *testing.T) {
	if os.Getenv(startAndWait) != "" {
		fmt.Println(redistest.Start(t).Addr())
		select {}
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
	child.Env = append(os.Environ(), startAndWait+"=1", "TMPDIR="+t.TempDir())
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	addr := lines.Text()
	require.False(t, refuses(addr))

	require.NoError(t, child.Process.Signal(syscall.SIGKILL))
	require.Error(t, child.Wait())

	require.Eventually(t, func() bool { return refuses(addr) }, 10*time.Second, 5*time.Millisecond)
}

// judged records the failures of a test that runs under it, instead of failing.
type judged struct {
	testing.TB
	verdict  string
	skipped  bool
	cleanups []func()
}

func (j *judged) Cleanup(f func())               { j.cleanups = append(j.cleanups, f) }
func (j *judged) Errorf(format string, a ...any) { j.verdict += fmt.Sprintf(format, a...) }
func (j *judged) Fatal(a ...any)                 { j.verdict += fmt.Sprint(a...); runtime.Goexit() }
func (j *judged) Fatalf(format string, a ...any) { j.Fatal(fmt.Sprintf(format, a...)) }
func (j *judged) Skip(...any)                    { j.skipped = true; runtime.Goexit() }
func (j *judged) Skipf(string, ...any)           { j.Skip() }
func (j *judged) SkipNow()                       { j.Skip() }

func judge(t *testing.T, test func(testing.TB)) *judged {
	j := &judged{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range j.cleanups {
				f()
			}
		}()
		test(j)
	}()
	<-done
	return j
}

func TestWithoutRedisServerTheTestFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())

	j := judge(t, func(t testing.TB) { redistest.Start(t) })

	require.False(t, j.skipped)
	require.Contains(t, j.verdict, "make deps")
}

func TestServerThatEndsByItselfFailsTheTest(t *testing.T) {
	j := judge(t, func(tb testing.TB) {
		server := redistest.Start(tb)
		client := server.Client(t)
		pid, err := strconv.Atoi(client.InfoMap(t.Context(), "server").Item("Server", "process_id"))
		require.NoError(t, err)
		client.Shutdown(t.Context())
		reaped := func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
		require.Eventually(t, reaped, 10*time.Second, 5*time.Millisecond)
	})

	require.Contains(t, j.verdict, "redis-server ended by itself")
	require.Contains(t, j.verdict, "User requested shutdown")
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	j := judge(t, func(t testing.TB) { redistest.Start(t, redistest.WithConf("maxmemory-policy", "keep-everything")) })

	require.Contains(t, j.verdict, `maxmemory-policy "keep-everything"`)
}
