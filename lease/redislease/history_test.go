package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// Holders that contend for ticks over networks that lose, delay and cut get answers that a single fenced tick could
// have given them, in some order.
func TestHistoriesOfOneTickAreLinearizable(t *testing.T) {
	seed := historytest.Seed(t)
	const rounds, atOnce = 12, 3
	h := newHistories(t, seed)
	direct := open(t, h.server.Addr())

	notified := map[verdict]int{}
	for round := 0; round < rounds; round += atOnce {
		var running sync.WaitGroup
		results := make([]*history, atOnce)
		for i := range atOnce {
			name := fmt.Sprintf("job%d", round+i)
			synced(t, direct, name)
			running.Go(func() { results[i] = h.play(t.Context(), name, seed+uint64(round+i)) })
		}
		running.Wait()
		for _, r := range results {
			last, err := direct.Inspect(t.Context(), r.name)
			require.NoError(t, err)
			for _, o := range last.Open {
				r.see(o.Attempt, o.Holder)
			}
			for _, op := range r.operations {
				notified[op.Output.(output).verdict]++
			}
			result := porcupine.CheckOperationsTimeout(fencedTick.ToModel(), r.operations, 30*time.Second)
			if result != porcupine.Ok {
				for _, op := range r.operations {
					t.Logf("%d to %d, client %d: %s", op.Call, op.Return, op.ClientId, fencedTick.DescribeOperation(op.Input, op.Output))
				}
			}
			require.Equal(t, porcupine.Ok, result)
		}
	}
	t.Logf("answers: %v", notified)
	// Otherwise the histories prove little.
	for _, v := range []verdict{grantedTo, heldBy, decided, done, fenced, unknown} {
		require.Positive(t, notified[v], "no client was answered %q", v)
	}
}

// Clients change one stored schedule over such networks.
func TestHistoriesOfOneScheduleAreLinearizable(t *testing.T) {
	h := newHistories(t, historytest.Seed(t))
	historytest.Schedules(t, open(t, h.server.Addr(), redislease.WithTimeout(20*time.Second)), h.stores[0], h.stores[1])
}

// histories are played by holders behind two proxies.
type histories struct {
	server  *redistest.Server
	proxies []*proxytest.Proxy
	stores  []*redislease.Store
	admin   *redis.Client
}

// newHistories has a server behind networks that break until the test ends.
func newHistories(t *testing.T, seed uint64) *histories {
	srv := redistest.Start(t)
	h := &histories{server: srv, admin: srv.Client(t)}
	for range 2 {
		proxy := proxytest.New(t, srv.Addr())
		h.proxies = append(h.proxies, proxy)
		h.stores = append(h.stores, open(t, proxy.Addr(), redislease.WithTimeout(50*time.Millisecond)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var faults sync.WaitGroup
	faults.Go(func() { h.disturb(ctx, rand.New(rand.NewPCG(seed, 0))) })
	t.Cleanup(func() { cancel(); faults.Wait() })
	return h
}

// disturb breaks the networks, and mends them, until ctx ends.
func (h *histories) disturb(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		p := h.proxies[r.IntN(len(h.proxies))]
		mended := time.Duration(10+r.IntN(60)) * time.Millisecond
		switch r.IntN(8) {
		case 0:
			p.Partition()
		case 1:
			p.Partition(proxytest.Replies)
		case 2:
			p.Cut()
			mended /= 10 // the client's pool gives itself a second after a few failures
		case 3:
			p.Delay(time.Duration(r.IntN(30)) * time.Millisecond)
		case 4:
			h.admin.ScriptFlush(ctx)
		default:
			p.LoseReplies(1+r.IntN(2), "EVALSHA", "EVAL")
		}
		pause(ctx, mended)
		p.Heal()
		pause(ctx, time.Duration(r.IntN(30))*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// history has the requests of clients about one tick, and the answers that they got.
type history struct {
	name string
	ttl  time.Duration

	mu         sync.Mutex
	seen       *sightings
	operations []porcupine.Operation
}

// play lets clients contend for a tick of name until it is settled or time is up.
func (h *histories) play(ctx context.Context, name string, seed uint64) *history {
	ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	r := &history{
		name: name, ttl: 100 * time.Millisecond,
		seen: &sightings{holder: make(map[int]string)},
	}
	var clients sync.WaitGroup
	for id := range 4 {
		c := &client{
			history: r, id: id, store: h.stores[id%len(h.stores)],
			rand: rand.New(rand.NewPCG(seed, uint64(id))),
		}
		clients.Go(func() { c.contend(ctx) })
	}
	clients.Wait()
	return r
}

type client struct {
	*history

	id    int
	store *redislease.Store
	rand  *rand.Rand
}

// chance is true n times in a hundred.
func (c *client) chance(n int) bool { return c.rand.IntN(100) < n }

func (c *client) contend(ctx context.Context) {
	for request := 0; ctx.Err() == nil; request++ {
		claim := claimOf(c.name, 100, fmt.Sprintf("h%d", c.id), fmt.Sprintf("h%d-r%d", c.id, request))
		claim.TTL, claim.Takeovers, claim.OnlyOpen = c.ttl, 1000, c.chance(30)
		a := c.claim(claim)
		for tries := 0; a.verdict == unknown && ctx.Err() == nil && tries < 3; tries++ {
			a = c.claim(claim) // the same request: it may have been granted
		}
		if c.chance(30) { // as if the answer had been lost
			if again := c.claim(claim); again.verdict == grantedTo {
				a = again
			}
		}
		switch a.verdict {
		case decided:
			if !claim.OnlyOpen { // else it may not have begun
				return
			}
		case grantedTo:
			c.hold(ctx, protocol.Grant{
				Name: c.name, Tick: 100, Holder: claim.Holder, Request: claim.Request,
				Token: a.token, Attempt: a.attempt, Takeovers: 1000, TTL: c.ttl,
			})
		}
		pause(ctx, time.Duration(c.rand.IntN(40))*time.Millisecond)
	}
}

// hold works under a grant: it renews for a while, may freeze, and ends one way or another, or not at all.
func (c *client) hold(ctx context.Context, g protocol.Grant) {
	for c.chance(60) && ctx.Err() == nil {
		if c.use(renews, g) == fenced {
			return
		}
		pause(ctx, c.ttl/4)
	}
	if c.chance(40) {
		pause(ctx, c.ttl+c.ttl/4) // and wakes too late
		if c.chance(50) {
			c.use(renews, g)
		}
	}
	end := releases
	switch {
	case c.chance(20):
		return
	case c.chance(25):
		end = settles
	}
	for range 4 {
		if c.use(end, g) != unknown {
			break
		}
	}
	// A request that was sent twice may arrive twice, and a renewal after the end.
	if c.chance(30) {
		c.use(end, g)
	}
	if c.chance(30) {
		c.use(renews, g)
	}
}

func (c *client) claim(claim protocol.Claim) output {
	in := input{
		action: claims, holder: claim.Holder, request: claim.Request,
		open: claim.OnlyOpen, sent: time.Now().UnixMicro(), ttl: claim.TTL.Microseconds(), seen: c.seen,
	}
	return c.record(in, func(ctx context.Context) output {
		a, err := c.store.Claim(ctx, claim)
		out := output{verdict: unknown, attempt: a.Attempt, token: a.Token, now: a.Now.UnixMicro(), remaining: a.Remaining.Microseconds()}
		switch {
		case err != nil:
			return output{verdict: unknown}
		case a.Status == protocol.Granted:
			out.verdict = grantedTo
			c.see(a.Attempt, claim.Holder)
		case a.Status == protocol.Held:
			out.verdict = heldBy
			c.see(a.Attempt, a.Holder)
		case a.Status == protocol.Decided:
			out.verdict = decided
		default:
			panic(fmt.Sprintf("unexpected answer %+v", a))
		}
		return out
	})
}

func (h *history) see(attempt int, holder string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.see(attempt, holder)
}

func (c *client) use(action action, g protocol.Grant) verdict {
	in := input{
		action: action, request: g.Request, attempt: g.Attempt, token: g.Token,
		sent: time.Now().UnixMicro(), ttl: g.TTL.Microseconds(),
	}
	return c.record(in, func(ctx context.Context) output {
		var err error
		switch action {
		case renews:
			err = renewed(c.store, ctx, g)
		case releases:
			err = c.store.Release(ctx, g)
		default:
			err = c.store.Settle(ctx, g, "succeeded")
		}
		switch {
		case err == nil:
			return output{verdict: done}
		case errors.Is(err, protocol.ErrFenced):
			return output{verdict: fenced}
		}
		return output{verdict: unknown}
	}).verdict
}

func (c *client) record(in input, call func(context.Context) output) output {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Millisecond)
	defer cancel()
	called := time.Now().UnixNano()
	out := call(ctx)
	op := porcupine.Operation{ClientId: c.id, Input: in, Call: called, Output: out, Return: returned(out.verdict)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations = append(c.operations, op)
	return out
}
