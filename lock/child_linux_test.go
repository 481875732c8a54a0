package lock_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

// childEnv has the address of the server, for a process that only acquires a lock and says what
// becomes of it.
const childEnv = "LOCK_TEST_CHILD"

func init() {
	addr := os.Getenv(childEnv)
	if addr == "" {
		return
	}
	store, err := redislease.New(redis.NewClient(&redis.Options{Addr: addr}), "default", redislease.WithTimeout(300*time.Millisecond))
	if err != nil {
		panic(err)
	}
	locks := lock.New(store, lock.WithHolder("child"), lock.WithObserver(func(e lock.Event) {
		if _, ok := e.(lock.Waiting); ok {
			fmt.Println("waiting")
		}
	}))
	h, err := locks.Mutex("stock", append([]lock.Option{lock.WithFairness()}, short...)...).Acquire(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println("held")
	for h.Valid() { // as before each write
		time.Sleep(time.Millisecond)
	}
	fmt.Println("not valid")
	<-h.Context().Done()
	fmt.Println("lost")
	os.Exit(0)
}

// child is a process that acquires a fair mutex.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	says *bufio.Scanner
}

func startChild(t *testing.T, addr string) *child {
	exe, err := os.Executable()
	require.NoError(t, err)
	c := &child{t: t, cmd: exec.CommandContext(t.Context(), exe, "-test.run=^$")}
	c.cmd.Env = append(os.Environ(), childEnv+"="+addr)
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	c.says = bufio.NewScanner(out)
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

// hears waits until the child says so.
func (c *child) hears(want string) {
	c.t.Helper()
	require.True(c.t, c.says.Scan(), "it has ended: %v", c.says.Err())
	require.Equal(c.t, want, strings.TrimSpace(c.says.Text()))
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(s))
}

func TestAFrozenProcessFindsItsLockLost(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	p := dial(t, srv.Addr())
	c := startChild(t, srv.Addr())
	c.hears("held")
	c.signal(syscall.SIGSTOP)
	w := begin(t.Context(), p.Mutex("stock", append([]lock.Option{lock.WithFairness()}, short...)...))
	h := w.granted(t)
	require.Less(t, w.took, shortTerm+slack)
	c.signal(syscall.SIGCONT)
	c.hears("not valid") // the first thing that it can say
	c.hears("lost")
	require.True(t, h.Valid())
	release(t, h)
}

func TestAKilledProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	p := dial(t, srv.Addr())
	c := startChild(t, srv.Addr())
	c.hears("held")
	c.signal(syscall.SIGKILL)
	w := begin(t.Context(), p.Mutex("stock", append([]lock.Option{lock.WithFairness()}, short...)...))
	release(t, w.granted(t))
	require.Less(t, w.took, shortTerm+slack)
}

func TestFrozenWaiterDelaysTheQueueByItsTTL(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	p := dial(t, srv.Addr())
	fair := p.Mutex("stock", append([]lock.Option{lock.WithFairness()}, short...)...)
	h := acquire(t, fair)
	c := startChild(t, srv.Addr())
	c.hears("waiting")
	lines(t, p, "stock", 1)
	w := begin(t.Context(), fair)
	lines(t, p, "stock", 2)
	c.signal(syscall.SIGSTOP)
	release(t, h)
	released := time.Now()
	next := w.granted(t)
	require.Less(t, time.Since(released), 900*time.Millisecond+slack)
	c.signal(syscall.SIGCONT)
	lines(t, p, "stock", 1)
	release(t, next)
	c.hears("held")
}
