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
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/redislease"
)

// lockKinds are what locks are used for.
var lockKinds = []struct {
	name    string
	limit   int
	permits []int
	turn    protocol.Order
}{
	{"mutex", 1, []int{1}, protocol.OrderAny},
	{"semaphore", 3, []int{1, 1, 2, 3}, protocol.OrderAny},
	{"readers and writers", protocol.MaxPermits, []int{1, 1, 1, protocol.MaxPermits}, protocol.OrderAny},
	{"mutex in turn", 1, []int{1}, protocol.OrderArrival},
	{"writers first", protocol.MaxPermits, []int{1, 1, 1, protocol.MaxPermits}, protocol.OrderLargest},
}

// Holders that contend for locks over networks that lose, delay and cut get answers that a single fenced lock could
// have given them, in some order.
func TestHistoriesAreThoseOfFencedLocks(t *testing.T) {
	seed := historytest.Seed(t)
	const rounds = 2
	h := newHistories(t, seed)
	direct := open(t, h.server.Addr(), redislease.WithTimeout(20*time.Second))
	notified, checked := map[verdict]int{}, 0
	for round := range rounds {
		var running sync.WaitGroup
		results := make([]*lockHistory, len(lockKinds))
		for k := range lockKinds {
			results[k] = &lockHistory{
				name: fmt.Sprintf("lock%d-%d", round, k), kind: k, ttl: 80 * time.Millisecond, stores: h.stores, direct: direct,
			}
			running.Go(func() { results[k].play(t.Context(), seed+uint64(len(lockKinds)*round+k)) })
		}
		running.Wait()
		for _, r := range results {
			r.show(t)
			if r.check(t, notified) {
				checked++
			}
		}
	}
	t.Logf("answers: %v", notified)
	require.GreaterOrEqual(t, 2*checked, rounds*len(lockKinds), "the others came to no end in time")
	// Otherwise the histories prove little.
	for _, v := range []verdict{grantedTo, heldBy, done, fenced, unknown} {
		require.Positive(t, notified[v], "no client was answered %q", v)
	}
}

// lockHistory has the requests of clients about one lock, and the answers that they got.
type lockHistory struct {
	name   string
	kind   int
	ttl    time.Duration
	stores []*redislease.Store
	direct *redislease.Store

	mu         sync.Mutex
	operations []porcupine.Operation
	unknown    int // operations
}

// mostUnknown is how many operations of a history have an unknown outcome, but for those under way: the time to check a history is
// exponential in that. From then on nothing is lost any more.
const mostUnknown = 8

// play lets clients contend for the lock until time is up.
func (h *lockHistory) play(ctx context.Context, seed uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var clients sync.WaitGroup
	for id := range 4 {
		c := &lockClient{lockHistory: h, id: id, store: h.stores[id%len(h.stores)], rand: rand.New(rand.NewPCG(seed, uint64(id)))}
		clients.Go(func() { c.contend(ctx) })
	}
	clients.Wait()
}

// show adds what the lock shows in the end.
func (h *lockHistory) show(t *testing.T) {
	t.Helper()
	called := time.Now().UnixNano()
	l, err := h.direct.Lock(t.Context(), h.name)
	require.NoError(t, err)
	out := lockOutput{verdict: done}
	for _, hold := range l.Holds {
		out.holds = append(out.holds, lockHold{holder: hold.Holder, token: hold.Token})
	}
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: 4, Input: lockInput{action: shows}, Call: called, Output: out, Return: time.Now().UnixNano(),
	})
}

// check wants the history to be one of a fenced lock, and reports whether there was time to find out.
func (h *lockHistory) check(t *testing.T, notified map[verdict]int) bool {
	t.Helper()
	for _, op := range h.operations {
		notified[op.Output.(lockOutput).verdict]++
	}
	result := porcupine.CheckOperationsTimeout(fencedLock.ToModel(), h.operations, 5*time.Second)
	if result == porcupine.Illegal {
		for _, op := range h.operations {
			t.Logf("%d to %d, client %d: %s", op.Call, op.Return, op.ClientId, fencedLock.DescribeOperation(op.Input, op.Output))
		}
	}
	require.NotEqual(t, porcupine.Illegal, result, "%s: %s", h.name, lockKinds[h.kind].name)
	return result == porcupine.Ok
}

type lockClient struct {
	*lockHistory

	id    int
	store *redislease.Store
	rand  *rand.Rand
}

// chance is true n times in a hundred.
func (c *lockClient) chance(n int) bool { return c.rand.IntN(100) < n }

// reach returns the store to ask, and for how long to wait.
func (c *lockClient) reach() (*redislease.Store, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unknown >= mostUnknown {
		return c.direct, 20 * time.Second
	}
	return c.store, 40 * time.Millisecond
}

func (c *lockClient) contend(ctx context.Context) {
	kind := lockKinds[c.kind]
	for request := 0; ctx.Err() == nil; request++ {
		name := fmt.Sprintf("h%d-r%d", c.id, request)
		claim := lockOf(c.name, name, "r", kind.permits[c.rand.IntN(len(kind.permits))], kind.limit)
		claim.TTL, claim.Order = c.ttl, kind.turn
		if c.chance(70) {
			claim.WaiterTTL = c.ttl
		}
		var a lockOutput
		for tries := 0; tries < 8 && ctx.Err() == nil; tries++ {
			if a = c.claim(claim); a.verdict == grantedTo {
				break
			}
			if a.verdict == heldBy {
				pause(ctx, time.Duration(c.rand.IntN(15))*time.Millisecond)
			}
		}
		if c.chance(30) { // as if the answer had been lost
			if again := c.claim(claim); again.verdict == grantedTo {
				a = again
			}
		}
		g := claim.Grant(protocol.LockAnswer{Token: a.token})
		if a.verdict == grantedTo {
			c.hold(ctx, g)
		} else if c.chance(80) {
			g.Token = 0
			c.end(withdraws, g)
		}
		pause(ctx, time.Duration(c.rand.IntN(10))*time.Millisecond)
	}
}

// hold works under a grant: it renews for a while, may freeze, and gives back, or does not.
func (c *lockClient) hold(ctx context.Context, g protocol.LockGrant) {
	for c.chance(50) && ctx.Err() == nil {
		if c.use(renews, g) == fenced {
			break
		}
		pause(ctx, c.ttl/4)
	}
	if c.chance(30) {
		pause(ctx, c.ttl+c.ttl/4) // and wakes too late
		if c.chance(50) {
			c.use(renews, g)
		}
	}
	if c.chance(10) {
		return
	}
	c.end(releases, g)
	// A request that was sent twice may arrive twice, and a renewal after the end.
	if c.chance(30) {
		c.use(releases, g)
	}
	if c.chance(30) {
		c.use(renews, g)
	}
}

func (c *lockClient) end(action action, g protocol.LockGrant) {
	for range 4 {
		if c.use(action, g) != unknown {
			return
		}
	}
}

func (c *lockClient) claim(claim protocol.LockClaim) lockOutput {
	in := lockInput{
		action: claims, holder: claim.Holder, permits: claim.Permits, limit: claim.Limit,
		inQueue: claim.Order != protocol.OrderAny, sent: time.Now().UnixMicro(), ttl: claim.TTL.Microseconds(),
	}
	return c.record(in, func(ctx context.Context, s *redislease.Store) lockOutput {
		a, err := s.ClaimLock(ctx, claim)
		out := lockOutput{
			verdict: heldBy, holder: a.Holder, token: a.Token, now: a.Now.UnixMicro(), remaining: a.Remaining.Microseconds(),
		}
		switch {
		case err != nil:
			return lockOutput{verdict: unknown}
		case a.Status == protocol.Granted:
			out.verdict = grantedTo
		case a.Status != protocol.Held && a.Status != protocol.Queued:
			panic(fmt.Sprintf("unexpected answer %+v", a))
		}
		for _, s := range a.Lost {
			out.lost = append(out.lost, lockHold{holder: s.Holder, token: s.Token})
		}
		return out
	})
}

func (c *lockClient) use(action action, g protocol.LockGrant) verdict {
	in := lockInput{
		action: action, holder: g.Holder, permits: g.Permits, limit: g.Limit, token: g.Token,
		sent: time.Now().UnixMicro(), ttl: g.TTL.Microseconds(),
	}
	return c.record(in, func(ctx context.Context, s *redislease.Store) lockOutput {
		var err error
		if action == renews {
			err = lockRenewed(s, ctx, g)
		} else {
			err = s.ReleaseLock(ctx, g)
		}
		switch {
		case err == nil:
			return lockOutput{verdict: done}
		case errors.Is(err, protocol.ErrFenced):
			return lockOutput{verdict: fenced}
		}
		return lockOutput{verdict: unknown}
	}).verdict
}

func (c *lockClient) record(in lockInput, call func(context.Context, *redislease.Store) lockOutput) lockOutput {
	store, most := c.reach()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	called := time.Now().UnixNano()
	out := call(ctx, store)
	op := porcupine.Operation{ClientId: c.id, Input: in, Call: called, Output: out, Return: returned(out.verdict)}
	if in.action == renews && out.verdict == unknown {
		return out // nothing depends on whether that was done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operations = append(c.operations, op)
	if out.verdict == unknown {
		c.unknown++
	}
	return out
}
