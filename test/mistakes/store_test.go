package mistakes

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
	"github.com/solotick/solotick/scheduler"
)

// log collects the log of a service. It is safe for concurrent use.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		found := 0
		for _, part := range parts {
			if strings.Contains(line, part) {
				found++
			}
		}
		if found == len(parts) {
			return true
		}
	}
	return false
}

func (l *log) await(t *testing.T, parts ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return l.has(parts...) }, 20*time.Second, 5*time.Millisecond, "%q", parts)
}

// service starts a scheduler of one job, and returns what it logs in the quiet form.
func service(t *testing.T, store protocol.Store, schedule string, more ...scheduler.Option) (*scheduler.Scheduler, *log) {
	t.Helper()
	j, err := jobs.New("j", schedule, nothing, jobs.WithGroups(groups[t.Name()]...))
	require.NoError(t, err)
	var registry jobs.Registry
	require.NoError(t, registry.Add(j))
	out := new(log)
	observe := scheduler.LogTroubles(slog.New(slog.NewTextHandler(out, nil)))
	s, err := scheduler.New(store, &registry, append(more, scheduler.WithObserver(observe))...)
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
	return s, out
}

// groups has the job's groups, by the test.
var groups = map[string][]string{"TestAGroupThatNobodyServesIsLogged": {"gpu"}}

// Each way in which a store cannot be used is logged at once with what to change, and WaitReady and
// Check say the same.
func TestAStoreThatCannotBeUsedIsExplained(t *testing.T) {
	open, guarded := redistest.Start(t), redistest.Start(t, redistest.WithConf("requirepass", "secret"))
	replica := redistest.Start(t)
	require.NoError(t, replica.Client(t).Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	require.NoError(t, open.Client(t).Do(t.Context(), "ACL", "SETUSER", "narrow", "on", ">secret", "~other:*", "+@all").Err())
	for name, c := range map[string]struct {
		options redis.Options
		closed  bool
		err     string
		hint    string
	}{
		"no Redis":            {options: redis.Options{Addr: "127.0.0.1:1"}, err: "connection refused", hint: "check that Redis runs, and its address"},
		"unknown host":        {options: redis.Options{Addr: "no.such.host.invalid:6379"}, err: "no such host", hint: "check the host"},
		"password missing":    {options: redis.Options{Addr: guarded.Addr()}, err: "NOAUTH", hint: "check the user and the password"},
		"password wrong":      {options: redis.Options{Addr: guarded.Addr(), Password: "x"}, err: "WRONGPASS", hint: "check the user and the password"},
		"ACL too narrow":      {options: redis.Options{Addr: open.Addr(), Username: "narrow", Password: "secret"}, err: "NOPERM", hint: "let the user of Redis do"},
		"database 99":         {options: redis.Options{Addr: open.Addr(), DB: 99}, err: "DB index is out of range", hint: "name a database that this Redis has"},
		"read-only replica":   {options: redis.Options{Addr: replica.Addr()}, err: "READONLY", hint: "name the primary"},
		"closed before start": {options: redis.Options{Addr: open.Addr()}, closed: true, err: "client is closed", hint: "the store is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redis.NewClient(&c.options)
			store, err := redislease.New(client, "ns")
			require.NoError(t, err)
			t.Cleanup(func() { _, _ = store.Close(), client.Close() })
			if c.closed {
				require.NoError(t, store.Close())
			}

			s, out := service(t, store, "@every 1s")

			out.await(t, "level=ERROR", "store does not answer; nothing starts until it does", c.err, c.hint)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err = s.WaitReady(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, c.err)
			require.ErrorContains(t, err, c.hint)
			err = store.Check(t.Context())
			var fault *protocol.CheckError
			require.ErrorAs(t, err, &fault)
			require.ErrorContains(t, fault.Err, c.err)
			require.Contains(t, fault.Hint, c.hint)
		})
	}
}

// A password that the server does not ask for does no harm.
func TestAPasswordThatIsNotNeededWorks(t *testing.T) {
	srv := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr(), Password: "x"})
	store, err := redislease.New(client, "ns")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = store.Close(), client.Close() })
	s, _ := service(t, store, "@every 1s")
	err = s.WaitReady(t.Context())
	require.NoError(t, err)
}

func TestTwoProcessesOfOneReplicaIDAreLogged(t *testing.T) {
	store := new(memlease.Store)
	_, one := service(t, store, "@every 1s", scheduler.WithReplica("pod-1"), scheduler.WithTTL(time.Second))
	_, other := service(t, store, "@every 1s", scheduler.WithReplica("pod-1"), scheduler.WithTTL(time.Second))
	one.await(t, "level=WARN", "other processes use this replica's id", "replica=pod-1", "processes=2")
	other.await(t, "level=WARN", "other processes use this replica's id", "replica=pod-1", "processes=2")
}

func TestAGroupThatNobodyServesIsLogged(t *testing.T) {
	_, out := service(t, new(memlease.Store), "@every 1s")
	out.await(t, "level=WARN", `msg="fleet members changed"`, "unserved=[j]")
}

func TestAnInstantThatIsOverIsLogged(t *testing.T) {
	_, out := service(t, new(memlease.Store), "@at 2020-01-01T00:00:00Z")
	out.await(t, "level=WARN", "ticks settled without a run", "job=j", "to=2020-01-01T00:00:00.000Z", "reason=past")
}

func TestTwoServicesInOneNamespaceAreLogged(t *testing.T) {
	store := new(memlease.Store)
	_, billing := service(t, store, "@every 1s", scheduler.WithModule("example.com/billing"), scheduler.WithTTL(time.Second))
	_, mail := service(t, store, "@every 1s", scheduler.WithModule("example.com/mail"), scheduler.WithTTL(time.Second))
	for _, out := range []*log{billing, mail} {
		out.await(t, "level=WARN", "foreign=[j]", "give each service a namespace of its own")
	}
}

func TestALockWithoutRedisSaysWhy(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	store, err := redislease.New(client, "ns")
	require.NoError(t, err)
	locks := lock.New(store)
	t.Cleanup(func() { locks.Close(); _, _ = store.Close(), client.Close() })
	_, err = locks.Mutex("m").TryAcquire(t.Context())
	require.EqualError(t, err, `claim "m": dial tcp 127.0.0.1:1: connect: connection refused`)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = locks.Mutex("m").Acquire(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "connection refused")
}

func TestAMutexThatOneHoldsOneselfSaysSo(t *testing.T) {
	locks := lock.New(new(memlease.Store))
	t.Cleanup(locks.Close)
	h, err := locks.Mutex("m").Acquire(t.Context())
	require.NoError(t, err)
	_, err = locks.Mutex("m", lock.WithWaitTimeout(50*time.Millisecond)).Acquire(t.Context())
	require.ErrorIs(t, err, lease.ErrHeld)
	require.ErrorContains(t, err, "this process itself holds it: see lock.Reentrant")
	require.NoError(t, h.Release(t.Context()))
}
