package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// startPair starts a master and a replica that is in step.
func startPair(t testing.TB) (master, replica *redistest.Server) {
	t.Helper()
	master = redistest.Start(t, redistest.WithConf("repl-diskless-sync-delay", "0"))
	replica = redistest.Start(t, redistest.WithReplicaOf(master))
	awaitReplicas(t, master, 1)
	return master, replica
}

// awaitReplicas waits until a master has so many replicas that are in step.
func awaitReplicas(t testing.TB, master *redistest.Server, replicas int) {
	t.Helper()
	admin := master.Client(t)
	require.Eventually(t, func() bool {
		info, err := admin.Info(t.Context(), "replication").Result()
		if err != nil || !strings.Contains(info, "role:master") || strings.Count(info, "state=online") != replicas {
			return false
		}
		p := admin.Pipeline() // for up to a second after that they read nothing
		p.Set(t.Context(), "in step", 1, time.Millisecond)
		confirmed := p.Do(t.Context(), "wait", replicas, 100)
		_, err = p.Exec(t.Context())
		n, _ := confirmed.Int()
		return err == nil && n == replicas
	}, 30*time.Second, 10*time.Millisecond)
}

// tooFew wants call to fail since no replica has confirmed it. On a loaded machine it may take
// longer to say so than the store waits, and is asked again.
func tooFew(t *testing.T, verb string, call func() error) {
	t.Helper()
	var e *redislease.ReplicasError
	assert.Eventually(t, func() bool { return errors.As(call(), &e) }, 20*time.Second, time.Millisecond, verb)
	if e != nil {
		assert.Equal(t, &redislease.ReplicasError{Confirmed: 0, Wanted: 1}, e)
	}
}

func TestWritesThatTooFewRedisReplicasHaveFail(t *testing.T) {
	t.Parallel()
	const timeout = 600 * time.Millisecond
	master, replica := startPair(t)
	s := open(t, master.Addr(), redislease.WithReplicas(1), redislease.WithTimeout(timeout))
	plain := open(t, master.Addr())
	synced(t, plain, "job", "other")
	held := granted(t, plain, claimOf("job", 100, "a", "r"))
	settles := granted(t, plain, claimOf("other", 100, "a", "r"))
	lock := granted(t, plain, claimOf("lock", 0, "a", "r"))
	fenced := held
	fenced.Token--
	replica.Freeze()

	calls := map[string]func() error{
		"claim": func() error { _, err := s.Claim(t.Context(), claimOf("job", 101, "a", "r")); return err },
		"lock":  func() error { _, err := s.ClaimLock(t.Context(), lockOf("permits", "a", "r", 1, 2)); return err },
		"renew": func() error {
			errs := s.Renew(t.Context(), []protocol.Grant{held, fenced})
			if !errors.Is(errs[0], redislease.ErrReplicas) {
				return errs[0]
			}
			assert.ErrorIs(t, errs[1], protocol.ErrFenced) // of which there is no doubt
			return errs[0]
		},
		"settle":  func() error { return s.Settle(t.Context(), settles, "succeeded") },
		"release": func() error { return s.Release(t.Context(), lock) },
	}
	for _, verb := range []string{"pass", "sync", "pause", "resume", "trigger"} {
		call := everyVerb(s, protocol.Grant{Name: "other", Tick: 100, Holder: "a", Request: "r"})[verb]
		calls[verb] = func() error { return call(t.Context()) }
	}
	var all sync.WaitGroup
	for verb, call := range calls {
		all.Go(func() { tooFew(t, verb, call) })
	}
	all.Wait()
	require.False(t, t.Failed())
	began := time.Now()
	_, err := s.Claim(t.Context(), claimOf("job", 102, "a", "r"))
	require.Less(t, time.Since(began), timeout+patience)
	if errors.Is(err, redislease.ErrReplicas) {
		require.ErrorContains(t, err, `claim "job": redislease: 0 replicas have confirmed the write in time, 1 must: look at`)
	}

	// A granted lease is free soon, not when its TTL is over.
	require.Eventually(t, func() bool {
		a, err := plain.Claim(t.Context(), claimOf("job", 101, "b", "r"))
		return err == nil && a.Status == protocol.Granted
	}, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		a, err := plain.ClaimLock(t.Context(), lockOf("permits", "b", "r", 2, 2))
		return err == nil && a.Status == protocol.Granted
	}, 20*time.Second, 10*time.Millisecond)

	// Claims that write nothing are answered, and so are calls that only read.
	for tick, want := range map[int64]protocol.Status{101: protocol.Held, 99: protocol.Decided} {
		require.Eventually(t, func() bool {
			a, err := s.Claim(t.Context(), claimOf("job", tick, "c", "r"))
			return err == nil && a.Status == want
		}, 20*time.Second, time.Millisecond)
	}
	for _, verb := range []string{"time", "inspect", "announce", "members"} {
		require.NoError(t, everyVerb(s, held)[verb](t.Context()), verb)
	}

	// All of that can be tried again.
	replica.Thaw()
	for _, call := range []func() error{
		func() error { return renewed(s, t.Context(), held) },
		func() error { return s.Settle(t.Context(), held, "succeeded") },
		calls["settle"], calls["release"],
	} {
		require.Eventually(t, func() bool { return call() == nil }, 20*time.Second, time.Millisecond)
	}
}

func TestSettlingAgainConfirmsWhatTooFewReplicasHave(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	s := open(t, master.Addr(), redislease.WithReplicas(1), redislease.WithTimeout(600*time.Millisecond))
	synced(t, s, "job", "other")
	settles := granted(t, s, claimOf("job", 100, "a", "r"))
	released := granted(t, s, claimOf("other", 100, "a", "r"))
	replica.Freeze()
	for range 3 {
		require.ErrorIs(t, s.Settle(t.Context(), settles, "succeeded"), redislease.ErrReplicas)
	}
	require.ErrorIs(t, s.Release(t.Context(), released), redislease.ErrReplicas)
	_, err := s.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.ErrorIs(t, s.Settle(t.Context(), settles, "succeeded"), redislease.ErrReplicas)
	replica.Thaw()
	require.Eventually(t, func() bool { return s.Settle(t.Context(), settles, "succeeded") == nil }, 20*time.Second, time.Millisecond)
}

// delayed holds releases back while it is locked.
type delayed struct{ sync.RWMutex }

func (*delayed) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*delayed) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (d *delayed) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if args := cmds[0].Args(); len(args) > 10 && strings.Contains(fmt.Sprint(args[10]), "d") { // see lua/values.lua
			d.RLock()
			defer d.RUnlock()
		}
		return next(ctx, cmds)
	}
}

// A repeated request must not get a lease that is about to be released.
func TestForgottenClaimIsGrantedAgain(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	releases := new(delayed)
	s := open(t, master.Addr(), redislease.WithReplicas(1), redislease.WithTimeout(400*time.Millisecond), redislease.WithHook(releases))
	synced(t, open(t, master.Addr()), "job")
	c := claimOf("job", 100, "a", "r")
	releases.Lock()
	goOn := sync.OnceFunc(releases.Unlock)
	t.Cleanup(goOn) // before the store waits for it
	replica.Freeze()
	tooFew(t, "claim", func() error { _, err := s.Claim(t.Context(), c); return err })
	replica.Thaw()
	awaitReplicas(t, master, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Claim(ctx, c)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	other, err := open(t, master.Addr()).Claim(t.Context(), claimOf("job", 100, "a", "another"))
	require.NoError(t, err)
	require.Equal(t, protocol.Held, other.Status)

	goOn()
	var g protocol.Grant
	require.Eventually(t, func() bool {
		a, err := s.Claim(t.Context(), c)
		g = grantOf(c, a)
		return err == nil && a.Status == protocol.Granted
	}, 20*time.Second, time.Millisecond)
	require.Equal(t, 2, g.Attempt)
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
}

// The question has to follow the write on its connection, and costs no round trip of its own.
func TestReplicasConfirmInTheSamePipeline(t *testing.T) {
	t.Parallel()
	master, _ := startPair(t)
	warm := open(t, master.Addr())
	synced(t, warm, "warm")
	for verb, call := range everyVerb(warm, granted(t, warm, claimOf("warm", 1, "a", "r"))) {
		if err := call(t.Context()); !errors.Is(err, protocol.ErrFenced) {
			require.NoError(t, err, verb)
		}
	}
	proxy := proxytest.New(t, master.Addr())
	s := open(t, proxy.Addr(), redislease.WithReplicas(1), redislease.WithTimeout(10*time.Second))
	synced(t, s, "job")
	g := granted(t, s, claimOf("job", 100, "a", "r"))
	verbs := everyVerb(s, g)
	verbs["claim"] = func(context.Context) error { granted(t, s, claimOf("job", 101, "a", "r")); return nil }
	for _, c := range []struct {
		verb  string
		waits int
	}{
		{"claim", 1}, {"renew", 1}, {"release", 1}, {"pause", 1}, {"trigger", 1},
		{"sync", 0}, {"time", 0}, {"inspect", 0}, {"announce", 0}, {"members", 0}, // which write nothing that is held
	} {
		proxy.ResetCounts()
		require.NoError(t, verbs[c.verb](t.Context()), c.verb)
		require.Equal(t, c.waits, proxy.CommandsByName()["WAIT"], c.verb)
		if c.verb == "claim" || c.verb == "renew" {
			require.Equal(t, 1, proxy.RoundTrips()-proxy.CommandsByName()["HELLO"], c.verb)
		}
	}

	// A grant that is found, since its answer may have been lost, is confirmed as well.
	proxy.ResetCounts()
	require.NoError(t, everyVerb(s, granted(t, s, claimOf("job", 101, "a", "r")))["claim"](t.Context()))
	require.Positive(t, proxy.CommandsByName()["WAIT"])

	// Many at once share the question.
	grants := make([]protocol.Grant, 256)
	for i := range grants {
		grants[i] = granted(t, s, claimOf(fmt.Sprintf("lock%d", i), 0, "a", "r"))
	}
	proxy.ResetCounts()
	for _, err := range s.Renew(t.Context(), grants) {
		require.NoError(t, err)
	}
	require.Equal(t, 1, proxy.CommandsByName()["WAIT"])
	require.NoError(t, master.Client(t).ScriptFlush(t.Context()).Err())
	granted(t, s, claimOf("again", 0, "a", "r")) // also behind the source of a script
	require.Positive(t, proxy.CommandsByName()["EVAL"])
}

func TestAStoreThatIsClosedReleasesNothingMore(t *testing.T) {
	t.Parallel()
	master, _ := startPair(t)
	proxy := proxytest.New(t, master.Addr())
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	s, err := redislease.New(client, "default", redislease.WithReplicas(2), redislease.WithTimeout(300*time.Millisecond))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return answers(s) }, 20*time.Second, time.Millisecond)
	var e *redislease.ReplicasError
	require.Eventually(t, func() bool { // the one there is may take its time on a loaded machine
		_, err := s.Claim(t.Context(), claimOf("lock", 0, "a", "r"))
		return errors.As(err, &e) && e.Confirmed == 1 && e.Wanted == 2
	}, 20*time.Second, time.Millisecond)
	proxy.Blackhole()
	began := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(began), patience)
	_, err = s.Claim(context.Background(), claimOf("lock", 0, "a", "r"))
	require.Error(t, err)
}

func TestFailoverOptionsThatCannotWorkAreRefused(t *testing.T) {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { require.NoError(t, client.Close()) }()
	_, err := redislease.New(client, "default", redislease.WithReplicas(17), redislease.WithTimeout(299*time.Millisecond), redislease.WithFailoverGrace(time.Second))
	for _, want := range []string{
		"replicas 17 must be from 0 to 16", "timeout 299ms must be at least 300ms", "failover grace 1s must be 0s on Cluster",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = redislease.New(client, "default", redislease.WithReplicas(-1), redislease.WithFailoverGrace(-time.Second))
	require.ErrorContains(t, err, "replicas -1 must be")
	require.ErrorContains(t, err, "failover grace -1s must be from 0s to 25h0m0s")
}
