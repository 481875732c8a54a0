package redislease_test

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/leasetest"
	"github.com/solotick/solotick/lease/redislease"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "300"); err != nil { // the command line may say otherwise
		panic(err)
	}
	flag.Parse()
	redis.SetLogger(silence{}) // what it says about connections that the tests break
	// Closed or not, a pool that could not dial sleeps out its second before it looks again.
	// Of some clients that are closed it leaves the clean-up of their circuit breakers behind.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/maintnotifications.(*CircuitBreakerManager).cleanupLoop"))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func TestStore(t *testing.T) {
	srv, ahead := redistest.Start(t, redistest.WithClock()), time.Duration(0)
	leasetest.Run(t, func(t *testing.T) protocol.Store { return open(t, srv.Addr()) },
		leasetest.WithForget(func(*testing.T, protocol.Store) { srv.Flush() }),
		leasetest.WithClockStep(func(_ *testing.T, _ protocol.Store, d time.Duration) {
			ahead += d
			srv.SetClock(ahead)
		}))
}

// open makes a store for the server at addr.
func open(t testing.TB, addr string, opts ...redislease.Option) *redislease.Store {
	t.Helper()
	return openFor(t, redis.NewClient(&redis.Options{Addr: addr}), opts...)
}

// openFor makes a store from the caller's client, and closes both at the end of t.
func openFor(t testing.TB, client redis.UniversalClient, opts ...redislease.Option) *redislease.Store {
	t.Helper()
	return openForIn(t, client, "default", opts...)
}

// openIn and openForIn are open and openFor in another namespace.
func openIn(t testing.TB, addr, namespace string) *redislease.Store {
	t.Helper()
	return openForIn(t, redis.NewClient(&redis.Options{Addr: addr}), namespace)
}

func openForIn(t testing.TB, client redis.UniversalClient, namespace string, opts ...redislease.Option) *redislease.Store {
	t.Helper()
	s, err := redislease.New(client, namespace, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, client.Close())
	})
	return s
}

// rig is a server that knows the scripts, a proxy in front of it, and a store whose connection is
// ready.
type rig struct {
	srv   *redistest.Server
	proxy *proxytest.Proxy
	store *redislease.Store
}

func newRig(t *testing.T, opts ...redislease.Option) *rig {
	t.Helper()
	srv := redistest.Start(t)
	proxy := proxytest.New(t, srv.Addr())
	warm := openIn(t, srv.Addr(), "warm")
	synced(t, warm, "warm")
	g := granted(t, warm, claimOf("warm", 1, "a", "r"))
	for verb, call := range everyVerb(warm, g) {
		if err := call(t.Context()); !errors.Is(err, protocol.ErrFenced) { // the order is random
			require.NoError(t, err, verb)
		}
	}
	r := &rig{srv: srv, proxy: proxy, store: open(t, proxy.Addr(), opts...)}
	// Its timeout may be short for a loaded machine.
	require.Eventually(t, func() bool { return answers(r.store) }, 20*time.Second, time.Millisecond)
	return r
}

const long = time.Minute

func claimOf(name string, tick int64, holder, request string) protocol.Claim {
	return protocol.Claim{Name: name, Tick: tick, Holder: holder, Request: request, TTL: long, Takeovers: 3}
}

func grantOf(c protocol.Claim, a protocol.Answer) protocol.Grant {
	return protocol.Grant{
		Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request,
		Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL,
	}
}

func synced(t testing.TB, s protocol.Store, names ...string) {
	t.Helper()
	syncs := make([]protocol.Sync, len(names))
	for i, name := range names {
		syncs[i].Name = name
	}
	_, err := s.Sync(t.Context(), syncs)
	require.NoError(t, err)
}

func granted(t testing.TB, s protocol.Store, c protocol.Claim) protocol.Grant {
	t.Helper()
	a, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return grantOf(c, a)
}

// answers reports whether the store is in touch with its server.
func answers(s protocol.Store) bool {
	_, _, err := s.Time(context.Background())
	return err == nil
}

func renewed(s protocol.Store, ctx context.Context, g protocol.Grant) error {
	return s.Renew(ctx, []protocol.Grant{g})[0]
}

func lockRenewed(s protocol.Store, ctx context.Context, g protocol.LockGrant) error {
	return s.RenewLocks(ctx, []protocol.LockGrant{g})[0]
}

// everyVerb is each call of a store, of which g is a grant of the name, that can fail.
func everyVerb(s *redislease.Store, g protocol.Grant) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"claim": func(ctx context.Context) error {
			_, err := s.Claim(ctx, claimOf(g.Name, g.Tick, g.Holder, g.Request))
			return err
		},
		"renew":   func(ctx context.Context) error { return renewed(s, ctx, g) },
		"release": func(ctx context.Context) error { return s.Release(ctx, g) },
		"settle":  func(ctx context.Context) error { return s.Settle(ctx, g, "succeeded") },
		"pass": func(ctx context.Context) error {
			_, _, err := s.Skip(ctx, protocol.Skip{Name: g.Name, From: g.Tick, To: g.Tick + 1, Outcome: "missed", Request: "p", Holder: "a"})
			return err
		},
		"sync": func(ctx context.Context) error {
			_, err := s.Sync(ctx, []protocol.Sync{{Name: g.Name}, {Name: "another"}})
			return err
		},
		"time":    func(ctx context.Context) error { _, _, err := s.Time(ctx); return err },
		"inspect": func(ctx context.Context) error { _, err := s.Inspect(ctx, g.Name); return err },
		"pause": func(ctx context.Context) error {
			_, err := s.Pause(ctx, g.Name, protocol.Pause{By: "ops"})
			return err
		},
		"resume": func(ctx context.Context) error {
			_, err := s.Resume(ctx, g.Name, protocol.Resume{By: "ops"})
			return err
		},
		"trigger": func(ctx context.Context) error {
			_, err := s.Trigger(ctx, protocol.Trigger{Name: g.Name, By: "ops", Request: "t", Key: "k", Window: long})
			return err
		},
		"remove": func(ctx context.Context) error {
			_, err := s.Remove(ctx, protocol.Remove{Name: g.Name})
			return err
		},
		"announce": func(ctx context.Context) error { return s.SendHeartbeat(ctx, g.Holder, []byte("info"), long) },
		"members":  func(ctx context.Context) error { _, err := s.Members(ctx); return err },
	}
}
