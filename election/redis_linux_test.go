package election_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

const (
	shortTerm = 2 * time.Second
	slack     = 5 * time.Second

	// childEnv has the address of the server, for a process that only campaigns and says what becomes
	// of it.
	childEnv = "ELECTION_TEST_CHILD"
)

func init() {
	addr := os.Getenv(childEnv)
	if addr == "" {
		return
	}
	store, _, err := open(addr)
	if err != nil {
		panic(err)
	}
	l, err := elect(lock.New(store, lock.WithHolder("child"))).Campaign(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println("leads", l.Token())
	for l.Valid() { // as before each write
		time.Sleep(time.Millisecond)
	}
	<-l.Context().Done()
	fmt.Println("leads no more")
	os.Exit(0)
}

func open(addr string) (*redislease.Store, *redis.Client, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	store, err := redislease.New(client, "default", redislease.WithTimeout(300*time.Millisecond))
	return store, client, err
}

func elect(locks *lock.Locks) *election.Election {
	return election.New(locks, "primary", lock.WithTTL(shortTerm), lock.WithWaiterTTL(900*time.Millisecond))
}

func dial(t *testing.T, addr, name string) *election.Election {
	store, client, err := open(addr)
	require.NoError(t, err)
	locks := lock.New(store, lock.WithHolder(name))
	t.Cleanup(func() {
		locks.Close()
		require.NoError(t, store.Close())
		require.NoError(t, client.Close())
	})
	return elect(locks)
}

// follow sends each leader that e sees, and whether nobody leads.
func follow(t *testing.T, e *election.Election) <-chan string {
	ctx, cancel := context.WithCancel(t.Context())
	seen, done := make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(done)
		for l, err := range e.Observe(ctx) {
			if err != nil {
				seen <- err.Error()
			} else {
				seen <- fmt.Sprint(l.Member, " leads ", l.Token)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return seen
}

func hear(t *testing.T, from <-chan string, want string) {
	t.Helper()
	for {
		select {
		case got := <-from:
			if got == election.ErrNoLeader.Error() && got != want {
				continue // between two leaders, if one looks quickly
			}
			require.Equal(t, want, got)
			return
		case <-time.After(shortTerm + slack):
			require.Fail(t, "not seen", want)
		}
	}
}

// Whether the leader's process is killed, or freezes, another is elected after its TTL, and all
// observers see that.
func TestTheLeadersProcessIsSucceeded(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			observers := []<-chan string{follow(t, dial(t, srv.Addr(), "o1")), follow(t, dial(t, srv.Addr(), "o2"))}
			for _, o := range observers {
				hear(t, o, election.ErrNoLeader.Error())
			}

			exe, err := os.Executable()
			require.NoError(t, err)
			child := exec.CommandContext(t.Context(), exe, "-test.run=^$")
			child.Env = append(os.Environ(), childEnv+"="+srv.Addr())
			child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			t.Cleanup(func() {
				_ = child.Process.Kill()
				_ = child.Wait()
			})
			says := bufio.NewScanner(out)
			require.True(t, says.Scan())
			var first int64
			_, err = fmt.Sscanf(says.Text(), "leads %d", &first)
			require.NoError(t, err)
			for _, o := range observers {
				hear(t, o, fmt.Sprint("child leads ", first))
			}

			require.NoError(t, child.Process.Signal(signal))
			began := time.Now()
			l, err := dial(t, srv.Addr(), "next").Campaign(t.Context())
			require.NoError(t, err)
			require.Less(t, time.Since(began), shortTerm+slack)
			require.Greater(t, l.Token(), first)
			for _, o := range observers {
				hear(t, o, fmt.Sprint("next leads ", l.Token()))
			}
			if signal == syscall.SIGSTOP {
				require.NoError(t, child.Process.Signal(syscall.SIGCONT))
				require.True(t, says.Scan())
				require.Equal(t, "leads no more", says.Text())
				require.True(t, l.Valid())
			}
			require.NoError(t, l.Resign(t.Context()))
			for _, o := range observers {
				hear(t, o, election.ErrNoLeader.Error())
			}
		})
	}
}

func TestLeaderInABlackHoleStopsInTime(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := proxytest.New(t, srv.Addr())
	a, b := dial(t, proxy.Addr(), "a"), dial(t, srv.Addr(), "b")
	first, err := a.Campaign(t.Context())
	require.NoError(t, err)
	var ended atomic.Bool
	context.AfterFunc(first.Context(), func() { ended.Store(true) })
	proxy.Blackhole()
	second, err := b.Campaign(t.Context())
	require.NoError(t, err)
	require.True(t, ended.Load())
	require.False(t, first.Valid())
	require.Greater(t, second.Token(), first.Token())
	proxy.Heal()
	require.ErrorIs(t, first.Resign(t.Context()), lease.ErrFenced)
	require.NoError(t, second.Resign(t.Context()))
}
