package redislease_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// refused wants a claim to be refused, and for no longer than grace.
func refused(t *testing.T, s protocol.Store, c protocol.Claim, grace time.Duration) {
	t.Helper()
	refusedFor(t, grace, func() error { _, err := s.Claim(t.Context(), c); return err })
}

func lockRefused(t *testing.T, s protocol.Store, c protocol.LockClaim, grace time.Duration) {
	t.Helper()
	refusedFor(t, grace, func() error { _, err := s.ClaimLock(t.Context(), c); return err })
}

func refusedFor(t *testing.T, grace time.Duration, claim func() error) {
	t.Helper()
	var e *redislease.FailoverError
	require.Eventually(t, func() bool { // connections that broke are found broken only when used
		err := claim()
		require.Error(t, err)
		return errors.As(err, &e)
	}, 20*time.Second, time.Millisecond)
	require.ErrorIs(t, e, redislease.ErrFailover)
	require.Positive(t, e.Remaining)
	require.LessOrEqual(t, e.Remaining, grace)
}

// grantedInTheEnd claims until it is granted and returns how long that took.
func grantedInTheEnd(t *testing.T, s protocol.Store, c protocol.Claim) (g protocol.Grant, took time.Duration) {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool {
		a, err := s.Claim(t.Context(), c)
		if !errors.Is(err, redislease.ErrFailover) {
			require.NoError(t, err)
			require.Equal(t, protocol.Granted, a.Status)
			g = grantOf(c, a)
		}
		return err == nil
	}, 20*time.Second, 5*time.Millisecond)
	return g, time.Since(began)
}

func TestNothingNewIsGrantedDuringTheGrace(t *testing.T) {
	t.Parallel()
	const grace = time.Second
	srv := redistest.Start(t, redistest.WithAOF())
	s := open(t, srv.Addr(), redislease.WithFailoverGrace(grace))
	synced(t, s, "job", "other")
	refused(t, s, claimOf("job", 100, "a", "r"), grace) // a namespace that is new looks like one that was lost
	held, _ := grantedInTheEnd(t, s, claimOf("job", 100, "a", "r"))
	settles := granted(t, s, claimOf("job", 101, "a", "r"))
	releases := granted(t, s, claimOf("job", 102, "a", "r"))
	lock := granted(t, s, claimOf("lock", 0, "a", "r"))
	both := []protocol.LockClaim{lockOf("permits", "a", "r", 1, 3), lockOf("permits", "a", "r2", 1, 3)}
	first, second := lockGranted(t, s, both[0]), lockGranted(t, s, both[1])
	alone := lockOf("alone", "a", "r", 1, 3)
	third := lockGranted(t, s, alone)
	require.NoError(t, s.Settle(t.Context(), granted(t, s, claimOf("job", 103, "a", "r")), "succeeded"))
	short := claimOf("other", 100, "a", "r")
	short.TTL, short.Takeovers = time.Millisecond, 0
	granted(t, s, short)

	srv.Restart()
	later := open(t, srv.Addr(), redislease.WithFailoverGrace(grace)) // as one that was started meanwhile
	refused(t, s, claimOf("job", 104, "a", "r"), grace)
	began := time.Now()
	refused(t, later, claimOf("job", 104, "b", "r"), grace)
	refused(t, s, claimOf("lock2", 0, "a", "r"), grace)
	refused(t, later, claimOf("other", 100, "b", "r"), grace) // whose lease may have been renewed
	before, err := s.Inspect(t.Context(), "other")
	require.NoError(t, err)
	require.Len(t, before.Open, 1)

	// A claim of a held lease is answered, and granted to its holder as before.
	require.Equal(t, held.Token, granted(t, s, claimOf("job", 100, "a", "r")).Token)
	require.Equal(t, lock.Token, granted(t, s, claimOf("lock", 0, "a", "r")).Token)
	require.Equal(t, first.Token, lockGranted(t, s, both[0]).Token)
	require.Equal(t, second.Token, lockGranted(t, s, both[1]).Token)
	require.Equal(t, third.Token, lockGranted(t, s, alone).Token)
	lockRefused(t, s, lockOf("permits", "b", "r", 1, 3), grace)
	lockRefused(t, s, lockOf("alone", "b", "r", 1, 3), grace)
	for tick, want := range map[int64]protocol.Status{100: protocol.Held, 103: protocol.Decided, 50: protocol.Decided} {
		a, err := later.Claim(t.Context(), claimOf("job", tick, "b", "r"))
		require.NoError(t, err)
		require.Equal(t, want, a.Status)
	}
	knows := claimOf("job", 110, "b", "r")
	knows.Known = 110 // what the server has lost
	a, err := later.Claim(t.Context(), knows)
	require.NoError(t, err)
	require.Equal(t, protocol.Decided, a.Status)
	a, err = later.Claim(t.Context(), claimOf("unheard-of", 100, "b", "r"))
	require.NoError(t, err)
	require.Equal(t, protocol.Unknown, a.Status)
	for _, err := range s.Renew(t.Context(), []protocol.Grant{held, settles, releases, lock}) {
		require.NoError(t, err)
	}
	require.NoError(t, s.Settle(t.Context(), settles, "succeeded"))
	require.NoError(t, s.Release(t.Context(), releases))
	refused(t, later, claimOf("job", 102, "b", "r"), grace)
	onlyOpen := claimOf("job", 102, "b", "r")
	onlyOpen.OnlyOpen = true
	refused(t, later, onlyOpen, grace)
	require.NoError(t, s.Release(t.Context(), lock))
	require.Less(t, time.Since(began), grace, "too slow a machine to have seen anything")

	_, took := grantedInTheEnd(t, later, claimOf("job", 111, "b", "r"))
	require.Less(t, took, grace+patience)
	require.GreaterOrEqual(t, time.Since(began), grace-50*time.Millisecond)
	require.Equal(t, 2, granted(t, s, onlyOpen).Attempt)
	a, err = later.Claim(t.Context(), claimOf("other", 100, "b", "r"))
	require.NoError(t, err)
	require.Equal(t, protocol.Lost, a.Status)
	granted(t, s, claimOf("other", 101, "b", "r")) // and so on, with no more grace
	lockGranted(t, s, lockOf("permits", "b", "r", 1, 3))

	srv.Flush()
	refused(t, s, claimOf("lock", 0, "a", "r"), grace)
}

func TestWithoutAGraceNothingIsRemembered(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s := open(t, srv.Addr())
	granted(t, s, claimOf("lock", 0, "a", "r"))
	info, err := srv.Client(t).InfoMap(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	keys, err := srv.Client(t).Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"solotick:{default}", redislease.Key("default", "lock")}, keys)
	require.NotContains(t, info["Commandstats"], "cmdstat_info") // this one is counted when it is done
}

func TestDocumentedPermissionsAreEnoughWithAGrace(t *testing.T) {
	t.Parallel()
	rights, _ := documentedRights(t)
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	require.Contains(t, string(doc), "With WithFailoverGrace also: +info\n")
	srv := redistest.Start(t, user(append(slices.Clone(rights), "+info")...))
	s := openFor(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"}),
		redislease.WithFailoverGrace(time.Millisecond))
	grantedInTheEnd(t, s, claimOf("lock", 0, "a", "r"))
	useEverything(t, s)
}

// lossy is a master whose replica misses all writes from some moment on, and a client that is led
// to the one that is the master.
type lossy struct {
	master, replica *redistest.Server
	link            *proxytest.Proxy
	addr            atomic.Pointer[string]
}

func startLossy(t *testing.T) *lossy {
	t.Helper()
	p := &lossy{master: redistest.Start(t, redistest.WithConf("repl-diskless-sync-delay", "0"))}
	p.link = proxytest.New(t, p.master.Addr())
	p.replica = redistest.Start(t, redistest.WithReplicaOfAddr(p.link.Addr()))
	awaitReplicas(t, p.master, 1)
	p.lead(p.master)
	return p
}

func (p *lossy) lead(to *redistest.Server) {
	addr := to.Addr()
	p.addr.Store(&addr)
}

func (p *lossy) connect() *redis.Client {
	return redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, *p.addr.Load())
	}})
}

// lose begins to lose what the master writes.
func (p *lossy) lose() { p.link.Blackhole() }

// failOver kills the master and promotes the replica.
func (p *lossy) failOver(t *testing.T) {
	t.Helper()
	p.master.Kill()
	require.NoError(t, p.replica.Client(t).ReplicaOf(t.Context(), "no", "one").Err())
	p.lead(p.replica)
}

// TestWritesThatAFailoverLoses shows what each mode does about a grant that the promoted replica
// has never learned of.
func TestWritesThatAFailoverLoses(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	claim := func(holder string) lease.Claim {
		return lease.Claim{Name: "lock", Holder: holder, TTL: ttl}
	}
	// prepare returns two replicas of which nothing was granted to any, and the end of the
	// replication.
	prepare := func(t *testing.T, opts ...redislease.Option) (p *lossy, a, b *lease.Renewer) {
		t.Helper()
		p = startLossy(t)
		for _, k := range []**lease.Renewer{&a, &b} {
			s := openFor(t, p.connect(), append(opts, redislease.WithTimeout(500*time.Millisecond))...)
			*k = lease.NewRenewer(s)
			t.Cleanup((*k).Close)
			grantedInTheEnd(t, s, claimOf("before-"+protocol.NewRequest(), 0, "a", "r"))
		}
		awaitReplicas(t, p.master, 1)
		p.lose()
		return p, a, b
	}
	acquire := func(t *testing.T, k *lease.Renewer, c lease.Claim) *lease.Lease {
		t.Helper()
		var l *lease.Lease
		require.Eventually(t, func() bool {
			var err error
			l, err = k.Acquire(context.Background(), c)
			return err == nil
		}, 20*time.Second, time.Millisecond)
		return l
	}

	t.Run("by default two may hold the same", func(t *testing.T) {
		t.Parallel()
		p, a, b := prepare(t)
		first, err := a.Acquire(t.Context(), claim("a"))
		require.NoError(t, err)
		p.failOver(t)
		second := acquire(t, b, claim("b"))
		require.True(t, first.Valid(), "the machine is too slow to show it")
		require.Greater(t, second.Token(), first.Token()) // for fencing
	})
	t.Run("with a grace the first is over before the second begins", func(t *testing.T) {
		t.Parallel()
		p, a, b := prepare(t, redislease.WithFailoverGrace(ttl))
		first, err := a.Acquire(t.Context(), claim("a"))
		require.NoError(t, err)
		kept, err := a.Acquire(t.Context(), lease.Claim{Name: "kept", Holder: "a", TTL: ttl})
		require.NoError(t, err)
		a.Close() // it is renewed no more, which the promoted server does not know
		kept = a.Keep(context.Background(), protocol.Claim{Name: "kept", Holder: "a", Request: "r", TTL: ttl},
			protocol.Answer{Status: protocol.Granted, Token: kept.Token(), Attempt: 1, Remaining: time.Until(kept.Deadline())}, steady.Now())
		deadline := first.Deadline()
		p.failOver(t)
		_, err = b.Acquire(t.Context(), claim("b"))
		require.Error(t, err)
		second := acquire(t, b, claim("b"))
		require.True(t, time.Now().After(deadline))
		require.Greater(t, second.Token(), first.Token())
		require.True(t, kept.Valid(), "what its holder renewed is written anew")
		_, err = b.Acquire(t.Context(), lease.Claim{Name: "kept", Holder: "b", TTL: ttl})
		require.ErrorIs(t, err, lease.ErrHeld)
	})
	t.Run("with replicas to wait for nobody is granted what may be lost", func(t *testing.T) {
		t.Parallel()
		p, a, b := prepare(t, redislease.WithReplicas(1))
		_, err := a.Acquire(t.Context(), claim("a"))
		require.ErrorIs(t, err, redislease.ErrReplicas)
		p.failOver(t)
		_, err = b.Acquire(t.Context(), claim("b"))
		require.Error(t, err) // the promoted server has no replica itself
	})
}
