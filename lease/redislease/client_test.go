package redislease_test

import (
	"context"
	"fmt"
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

func TestABusyPoolOfTheApplicationDelaysNothing(t *testing.T) {
	srv := redistest.Start(t)
	const pool = 3
	client := redis.NewClient(&redis.Options{Addr: srv.Addr(), PoolSize: pool, PoolTimeout: time.Minute})
	s := openFor(t, client)
	lock := granted(t, s, claimOf("lock", 0, "a", "r"))
	ctx, cancel := context.WithCancel(t.Context())
	var blocked sync.WaitGroup
	for range pool {
		blocked.Go(func() { client.BLPop(ctx, 0, "nothing") })
	}
	admin := srv.Client(t)
	require.Eventually(t, func() bool {
		info, err := admin.InfoMap(t.Context(), "clients").Result()
		return err == nil && info["Clients"]["blocked_clients"] == fmt.Sprint(pool)
	}, 20*time.Second, time.Millisecond)

	for range 100 {
		began := time.Now()
		require.NoError(t, renewed(s, t.Context(), lock))
		require.Less(t, time.Since(began), patience)
	}
	cancel()
	require.NoError(t, admin.RPush(context.Background(), "nothing", 1, 2, 3).Err())
	blocked.Wait()
}

func TestEachCallIsOneCommand(t *testing.T) {
	r := newRig(t)
	synced(t, r.store, "job")
	some := func(commands int, what string, call func() error) {
		t.Helper()
		r.proxy.ResetCounts()
		require.NoError(t, call(), what)
		require.Equal(t, map[string]int{"EVALSHA": commands}, used(r.proxy), what)
	}
	one := func(what string, call func() error) { t.Helper(); some(1, what, call) }
	var g protocol.Grant
	one("claim", func() error { g = granted(t, r.store, claimOf("job", 100, "a", "r")); return nil })
	for _, verb := range []string{
		"renew", "release", "settle", "pass", "time", "inspect", "announce", "members",
	} {
		one(verb, func() error { return everyVerb(r.store, g)[verb](t.Context()) })
	}
	for _, verb := range []string{"pause", "resume"} { // and a note for those that learn of it by no message
		some(2, verb, func() error { return everyVerb(r.store, g)[verb](t.Context()) })
	}

	var grants []protocol.Grant
	for i := range 300 {
		grants = append(grants, granted(t, r.store, claimOf(fmt.Sprintf("lock%d", i), 0, "a", "r")))
	}
	r.proxy.Delay(100*time.Millisecond, proxytest.Replies) // so that whatever travels together does so before the first reply
	for _, c := range []struct{ grants, commands int }{{128, 1}, {129, 2}, {256, 2}} {
		r.proxy.ResetCounts()
		for _, err := range r.store.Renew(t.Context(), grants[:c.grants]) {
			require.NoError(t, err)
		}
		require.Equal(t, map[string]int{"EVALSHA": c.commands}, used(r.proxy))
		require.Equal(t, 1, r.proxy.RoundTrips()-r.proxy.CommandsByName()["HELLO"])
	}
}

// used are the commands that came through, but for those that prepare a spare connection at a time
// of its own.
func used(p *proxytest.Proxy) map[string]int {
	commands := p.CommandsByName()
	delete(commands, "HELLO")
	return commands
}

func TestRequestsOfOneMomentTravelTogether(t *testing.T) {
	r := newRig(t)
	const claimers = 400
	r.proxy.Delay(50 * time.Millisecond)
	r.proxy.ResetCounts()
	var all sync.WaitGroup
	for i := range claimers {
		all.Go(func() {
			_, err := r.store.Claim(t.Context(), claimOf(fmt.Sprintf("lock%d", i), 0, "a", "r"))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.Less(t, r.proxy.CommandsByName()["EVALSHA"], 40)
	require.Less(t, r.proxy.RoundTrips(), 40)
	require.LessOrEqual(t, r.proxy.Connections(), 8) // six, and those that were dialled while another became free
}

func TestCallsDoNotWaitForHangingAnswers(t *testing.T) {
	r := newRig(t, redislease.WithTimeout(20*time.Second))
	var all sync.WaitGroup
	claim := func(name string) {
		all.Go(func() {
			_, err := r.store.Claim(t.Context(), claimOf(name, 0, "a", "r"))
			assert.NoError(t, err)
		})
	}
	r.proxy.Delay(50 * time.Millisecond)
	for i := range 64 {
		claim(fmt.Sprint("opens", i)) // connections
	}
	all.Wait()
	r.proxy.Delay(0)
	r.proxy.Partition(proxytest.Replies)
	r.proxy.ResetCounts()
	for sent := 1; sent <= 3; sent++ { // the third would wait for the others, if they were answered soon
		claim(fmt.Sprint("lock", sent))
		require.Eventually(t, func() bool { return r.proxy.CommandsByName()["EVALSHA"] == sent }, 15*time.Second, time.Millisecond)
	}
	r.proxy.Heal()
	all.Wait()
}

func TestHoweverManyRenewTheConnectionsStayFew(t *testing.T) {
	r := newRig(t)
	lock := granted(t, r.store, claimOf("lock", 0, "a", "r"))
	r.proxy.Delay(5 * time.Millisecond)
	r.proxy.ResetCounts()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { assert.NoError(t, renewed(r.store, t.Context(), lock)) })
	}
	all.Wait()
	require.LessOrEqual(t, r.proxy.Connections(), 8) // six, and those that were dialled while another became free
}

// counter sees the commands of a client.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.count(cmd); return next(ctx, cmd) }
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.count(cmds...); return next(ctx, cmds) }
}

func (c *counter) count(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range cmds {
		c.seen[cmd.Name()]++
	}
}

func TestAHookSeesTheStoresCommands(t *testing.T) {
	srv := redistest.Start(t)
	hook := &counter{seen: map[string]int{}}
	s := open(t, srv.Addr(), redislease.WithHook(hook))
	useEverything(t, s)
	before := hook.seen["evalsha"]
	_, _, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Equal(t, before+1, hook.seen["evalsha"])
}

func TestNamespacesAreApart(t *testing.T) {
	srv := redistest.Start(t)
	one, other := openIn(t, srv.Addr(), "one"), open(t, srv.Addr())
	g := granted(t, one, claimOf("lock", 0, "a", "r"))
	granted(t, other, claimOf("lock", 0, "b", "r"))
	woken, ended := make(chan string, 16), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- other.Watch(ctx, func(name string, _ int64) { woken <- name }) }()
	require.Empty(t, receive(t, woken))
	require.NoError(t, one.Release(t.Context(), g))
	granted(t, one, claimOf("lock", 0, "c", "r"))
	g = granted(t, other, claimOf("own", 0, "b", "r"))
	require.NoError(t, other.Release(t.Context(), g))
	require.Equal(t, "own", receive(t, woken))
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
}

func TestFaultyOptionsAreReportedTogether(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer func() { require.NoError(t, ring.Close()) }()
	_, err := redislease.New(ring, "not a name", redislease.WithTimeout(time.Millisecond))
	for _, want := range []string{`namespace "not a name"`, "timeout 1ms", "*redis.Ring"} {
		require.ErrorContains(t, err, want)
	}
}
