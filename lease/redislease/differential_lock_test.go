package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
)

// Driven alike, the locks on Redis and those in memory answer alike, show alike, and send the same
// notifications to the next waiters.
func TestLocksOnRedisAndInMemoryAnswerAlike(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	s, admin := open(t, srv.Addr(), redislease.WithTimeout(20*time.Second)), srv.Client(t)
	received := admin.Subscribe(t.Context(), queueChannel)
	t.Cleanup(func() { _ = received.Close() })
	_, err := received.Receive(t.Context())
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := &lockPair{ctx: ctx, redis: s, memory: new(memlease.Store), admin: admin, received: received}
		listens := make(chan struct{})
		go func() {
			_ = p.memory.Listen(ctx, func(name string, requests []string) {
				if name == "" {
					close(listens)
					return
				}
				p.notified = append(p.notified, strings.Join(append([]string{name}, requests...), " ")) // on the caller's goroutine
			})
		}()
		<-listens
		p.forget(t)
		p.receivedSince(t)
		t.Repeat(map[string]func(*rapid.T){
			"":           p.compare,
			"claim":      p.claim,
			"claim too":  p.claim,
			"wait":       p.claim,
			"repeat":     p.repeat,
			"come again": p.repeat,
			"renew":      p.renew,
			"release":    p.release,
			"give back":  p.release,
			"withdraw":   p.withdraw,
			"force":      p.force,
			"forget":     p.forgetSometimes,
		})
	})
}

const queueChannel = "solotick:default:line"

// lockPair is two stores. What they say differs in times and tokens: a lease or waiter's TTL either
// lasts for longer than the test or has run out before the next step, and tokens are compared by
// their rank.
type lockPair struct {
	ctx      context.Context
	redis    *redislease.Store
	memory   *memlease.Store
	admin    *redis.Client
	received *redis.PubSub
	notified []string // by memory

	claims   []protocol.LockClaim
	grants   [][2]protocol.LockGrant // as each store granted them
	ahead    time.Duration
	requests int
}

// near is by how much the remaining times of leases may differ; their TTLs differ by more.
const near = 6 * time.Second

var (
	lockTTLs       = []time.Duration{tiny, 60 * time.Second, 80 * time.Second, 2 * time.Hour}
	lockWaiterTTLs = []time.Duration{0, tiny, 20 * time.Second, 20 * time.Second, 40 * time.Second}
)

func (p *lockPair) claim(t *rapid.T) {
	p.requests++
	c := protocol.LockClaim{
		Name:    rapid.SampledFrom([]string{"one", "one", "one", "two"}).Draw(t, "name"),
		Holder:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder"),
		Request: fmt.Sprint(p.requests),
		Order:   rapid.SampledFrom([]protocol.Order{protocol.OrderAny, protocol.OrderArrival, protocol.OrderArrival, protocol.OrderLargest}).Draw(t, "turn"),
		Notify:  rapid.IntRange(0, 4).Draw(t, "tell") == 0,
	}
	p.draw(t, &c)
	p.claims = append(p.claims, c)
	p.ask(t, c)
}

func (p *lockPair) draw(t *rapid.T, c *protocol.LockClaim) {
	c.Limit = rapid.SampledFrom([]int{1, 3, 3, 5, protocol.MaxPermits}).Draw(t, "limit")
	c.Permits = rapid.SampledFrom([]int{1, 1, 2, c.Limit}).Draw(t, "permits")
	c.Permits = min(c.Permits, c.Limit)
	c.TTL = rapid.SampledFrom(lockTTLs).Draw(t, "term")
	c.WaiterTTL = rapid.SampledFrom(lockWaiterTTLs).Draw(t, "ticket")
}

func (p *lockPair) repeat(t *rapid.T) {
	if len(p.claims) == 0 {
		t.Skip("nothing was claimed yet")
	}
	c := rapid.SampledFrom(p.claims[max(0, len(p.claims)-8):]).Draw(t, "claim")
	if rapid.IntRange(0, 4).Draw(t, "otherwise") == 0 {
		p.draw(t, &c)
	}
	p.ask(t, c)
}

func (p *lockPair) ask(t *rapid.T, c protocol.LockClaim) {
	both := p.known(t, c)
	a, err := p.redis.ClaimLock(p.ctx, both[0])
	require.NoError(t, err)
	b, err := p.memory.ClaimLock(p.ctx, both[1])
	require.NoError(t, err)
	if a.Status == protocol.Granted && b.Status == protocol.Granted {
		both := [2]protocol.LockGrant{c.Grant(a), c.Grant(b)}
		if !slices.Contains(p.grants, both) {
			p.grants = append(p.grants, both)
		}
	}
	require.Equal(t, p.answer(b, 1), p.answer(a, 0), "%+v", c)
	require.InDelta(t, b.Remaining, a.Remaining, float64(near), "%+v", c)
	if c.TTL == tiny && a.Status == protocol.Granted || c.WaiterTTL == tiny && a.Status == protocol.Queued {
		outlast()
	}
}

// known is a claim for each store: some know the newest token of that name and store, or one that
// is far ahead of its clock. From then on all do: the session over the store in memory remembers
// tokens by itself.
func (p *lockPair) known(t *rapid.T, c protocol.LockClaim) (both [2]protocol.LockClaim) {
	n := rapid.IntRange(0, 9).Draw(t, "known")
	for i := range both {
		both[i] = c
		if n == 0 {
			both[i].Known = time.Now().Add(p.ahead + time.Hour).UnixMicro() // no two names have the same
		}
		if n < 6 || p.ahead > 0 {
			for _, g := range p.grants {
				if g[i].Name == c.Name {
					both[i].Known = max(both[i].Known, g[i].Token)
				}
			}
		}
	}
	if both[0].Known > time.Now().UnixMicro() {
		p.ahead += time.Hour
	}
	return both
}

func lockOf(name, holder, request string, permits, limit int) protocol.LockClaim {
	return protocol.LockClaim{Name: name, Holder: holder, Request: request, TTL: long, Permits: permits, Limit: limit}
}

func (p *lockPair) grant(t *rapid.T) [2]protocol.LockGrant {
	if len(p.grants) == 0 {
		t.Skip("nothing was granted yet")
	}
	newest := p.grants[max(0, len(p.grants)-4):]
	if rapid.IntRange(0, 3).Draw(t, "older") == 0 {
		newest = p.grants
	}
	g := rapid.SampledFrom(newest).Draw(t, "grant")
	g[0].TTL = rapid.SampledFrom(lockTTLs).Draw(t, "term")
	g[1].TTL = g[0].TTL
	return g
}

func (p *lockPair) renew(t *rapid.T) {
	var a, b []protocol.LockGrant
	for range rapid.IntRange(1, 4).Draw(t, "grants") {
		g := p.grant(t)
		a, b = append(a, g[0]), append(b, g[1])
	}
	for i := range a { // one by one: in one call the store in memory extends what it has before it writes anything again
		p.same(t, p.memory.RenewLocks(p.ctx, b[i:i+1])[0], p.redis.RenewLocks(p.ctx, a[i:i+1])[0], a[i])
		if a[i].TTL == tiny {
			outlast()
		}
	}
}

func (p *lockPair) release(t *rapid.T) {
	g := p.grant(t)
	p.same(t, p.memory.ReleaseLock(p.ctx, g[1]), p.redis.ReleaseLock(p.ctx, g[0]), g)
}

func (p *lockPair) withdraw(t *rapid.T) {
	if len(p.claims) == 0 {
		t.Skip("nothing was claimed yet")
	}
	c := rapid.SampledFrom(p.claims[max(0, len(p.claims)-8):]).Draw(t, "claim")
	g := c.Grant(protocol.LockAnswer{})
	g.Pending = rapid.IntRange(0, 2).Draw(t, "late") == 0
	p.same(t, p.memory.ReleaseLock(p.ctx, g), p.redis.ReleaseLock(p.ctx, g), g)
}

func (p *lockPair) force(t *rapid.T) {
	g := p.grant(t)
	if rapid.IntRange(0, 2).Draw(t, "now") != 0 {
		t.Skip("not this time")
	}
	want, err := p.memory.ForceRelease(p.ctx, g[1].Name, g[1].Token)
	require.NoError(t, err)
	got, err := p.redis.ForceRelease(p.ctx, g[0].Name, g[0].Token)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (p *lockPair) same(t *rapid.T, want, got error, about any) {
	require.Equal(t, errors.Is(want, protocol.ErrFenced), errors.Is(got, protocol.ErrFenced), "%v, want %v: %+v", got, want, about)
	if want == nil {
		require.NoError(t, got, "%+v", about)
	}
}

func (p *lockPair) forgetSometimes(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "now") != 0 {
		t.Skip("not this time")
	}
	p.forget(t)
}

func (p *lockPair) forget(t *rapid.T) {
	require.NoError(t, p.admin.FlushAll(p.ctx).Err())
	p.memory.Forget()
	time.Sleep(time.Millisecond) // a token is the clock's, or one more than the last; it is then above the forgotten
}

func (p *lockPair) compare(t *rapid.T) {
	for _, name := range []string{"one", "two"} {
		want, err := p.memory.Lock(p.ctx, name)
		require.NoError(t, err)
		got, err := p.redis.Lock(p.ctx, name)
		require.NoError(t, err)
		require.Len(t, got.Holds, len(want.Holds), "want %+v", want)
		require.Len(t, got.Queue, len(want.Queue), "want %+v", want)
		for i := range want.Holds {
			require.InDelta(t, want.Holds[i].Remaining, got.Holds[i].Remaining, float64(near))
		}
		for i := range want.Queue {
			require.InDelta(t, want.Queue[i].Remaining, got.Queue[i].Remaining, float64(near))
		}
		require.Equal(t, p.view(want, 1), p.view(got, 0))
	}
	require.Equal(t, p.notified, p.receivedSince(t))
	p.notified = nil
}

// It returns the messages that were published since the last call.
func (p *lockPair) receivedSince(t *rapid.T) (received []string) {
	const watermark = "the end"
	require.NoError(t, p.admin.Publish(p.ctx, queueChannel, watermark).Err())
	for {
		m, err := p.received.ReceiveMessage(p.ctx)
		require.NoError(t, err)
		if m.Payload == watermark {
			return received
		}
		received = append(received, m.Payload)
	}
}

func (p *lockPair) answer(a protocol.LockAnswer, store int) protocol.LockAnswer {
	a.Token = p.rank(a.Token, store)
	a.Remaining, a.Now = boolean(a.Remaining), time.Time{}
	a.Lost = slices.Clone(a.Lost)
	for i := range a.Lost {
		a.Lost[i].Token, a.Lost[i].At = p.rank(a.Lost[i].Token, store), time.Time{}
	}
	return a
}

func (p *lockPair) view(l protocol.Lock, store int) protocol.Lock {
	l.Token = p.rank(l.Token, store)
	for i := range l.Holds {
		h := &l.Holds[i]
		h.Token, h.Since, h.Remaining = p.rank(h.Token, store), time.Time{}, boolean(h.Remaining)
	}
	for i := range l.Queue {
		l.Queue[i].Since, l.Queue[i].Remaining = time.Time{}, boolean(l.Queue[i].Remaining)
	}
	return l
}

// rank is the token's place among those that the store has granted.
func (p *lockPair) rank(token int64, store int) int64 {
	if token == 0 {
		return 0
	}
	for i, g := range p.grants {
		if g[store].Token == token {
			return int64(i + 1)
		}
	}
	return -1
}

const tiny = time.Millisecond

// outlast returns when a tiny lease has run out.
func outlast() { time.Sleep(3 * tiny) }

func boolean(remaining time.Duration) time.Duration { return min(max(remaining, 0), 1) }
