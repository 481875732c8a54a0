package redislease_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
)

// Driven alike, with requests repeated as after lost replies, leases that run out, and all that was known forgotten in
// between, the store on Redis and the one in memory answer alike.
func TestRedisAndMemoryAnswerAlike(t *testing.T) {
	srv := redistest.Start(t)
	s, admin := open(t, srv.Addr()), srv.Client(t)
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{ctx: context.Background(), redis: s, memory: new(memlease.Store), admin: admin}
		p.forget(t)
		t.Repeat(map[string]func(*rapid.T){
			"":       p.compare,
			"claim":  p.claim,
			"repeat": p.repeat,
			"renew":  p.renew,
			"end":    p.end,
			"pass":   p.pass,
			"sync":   p.sync,
			"forget": p.forgetSometimes,
		})
	})
}

// pair is two stores. What they say differs in times and tokens: a lease either lasts for longer than the test or has run
// out before the next step, and tokens are compared by their rank.
type pair struct {
	ctx    context.Context
	redis  *redislease.Store
	memory *memlease.Store
	admin  *redis.Client

	claims   []lease.Claim
	grants   [][2]lease.Grant // as each store granted them
	passes   []lease.Pass
	requests int
}

const tiny = time.Millisecond

var names = []string{"one", "two"}

// outlast returns when a tiny lease has run out.
func outlast() { time.Sleep(3 * tiny) }

func drawName(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "name") }

func drawOccasion(t *rapid.T) int64 { return rapid.Int64Range(0, 12).Draw(t, "occasion") }

func (p *pair) request() string {
	p.requests++
	return fmt.Sprint(p.requests) // so that it could be taken for an occasion
}

func (p *pair) claim(t *rapid.T) {
	c := lease.Claim{
		Name:      drawName(t),
		Occasion:  drawOccasion(t),
		Holder:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder"),
		Request:   p.request(),
		Term:      rapid.SampledFrom([]time.Duration{tiny, long, long}).Draw(t, "term"),
		Takeovers: rapid.IntRange(0, 2).Draw(t, "takeovers"),
		Overlap:   rapid.SampledFrom([]lease.Overlap{lease.OverlapAllow, lease.OverlapAllow, lease.OverlapSkip, lease.OverlapWait}).Draw(t, "overlap"),
	}
	switch rapid.IntRange(0, 9).Draw(t, "rare") {
	case 0:
		c.Known = rapid.Int64Range(0, 14).Draw(t, "known")
	case 1:
		c.NotBefore = time.Now().Add(time.Hour)
	case 2:
		c.NotAfter = time.Now().Add(-time.Hour)
	}
	p.claims = append(p.claims, c)
	p.ask(t, c)
}

func (p *pair) repeat(t *rapid.T) {
	if len(p.claims) == 0 {
		t.Skip("nothing was claimed yet")
	}
	p.ask(t, rapid.SampledFrom(p.claims).Draw(t, "claim"))
}

func (p *pair) ask(t *rapid.T, c lease.Claim) {
	a, err := p.redis.Claim(p.ctx, c)
	require.NoError(t, err)
	b, err := p.memory.Claim(p.ctx, c)
	require.NoError(t, err)
	if a.Status == lease.Granted && b.Status == lease.Granted {
		p.grants = append(p.grants, [2]lease.Grant{grantOf(c, a), grantOf(c, b)})
		if c.Term == tiny {
			outlast()
		}
	}
	view := func(a lease.Answer, store int) lease.Answer {
		a.Token = p.rank(a.Token, store)
		a.Left = boolean(a.Left)
		a.Now = time.Time{}
		a.Open = p.open(a.Open, store)
		slices.Sort(a.LostToo)
		return a
	}
	require.Equal(t, view(b, 1), view(a, 0), "%+v", c)
}

func (p *pair) grant(t *rapid.T) [2]lease.Grant {
	if len(p.grants) == 0 {
		t.Skip("nothing was granted yet")
	}
	// Mostly one of the newest: the others are long settled.
	newest := p.grants[max(0, len(p.grants)-4):]
	if rapid.IntRange(0, 3).Draw(t, "older") == 0 {
		newest = p.grants
	}
	g := rapid.SampledFrom(newest).Draw(t, "grant")
	g[0].Attempt += rapid.IntRange(0, 1).Draw(t, "attempt")
	g[1].Attempt = g[0].Attempt
	g[0].Term = rapid.SampledFrom([]time.Duration{tiny, long, long}).Draw(t, "term")
	g[1].Term = g[0].Term
	return g
}

func (p *pair) renew(t *rapid.T) {
	var a, b []lease.Grant
	for range rapid.IntRange(1, 4).Draw(t, "grants") {
		g := p.grant(t)
		a, b = append(a, g[0]), append(b, g[1])
	}
	want, got := p.memory.Renew(p.ctx, b), p.redis.Renew(p.ctx, a)
	for i := range a {
		p.same(t, want[i], got[i], a[i])
		if a[i].Term == tiny {
			outlast()
		}
	}
}

func (p *pair) end(t *rapid.T) {
	g := p.grant(t)
	if outcome := rapid.SampledFrom([]lease.Outcome{"", "", "succeeded", "failed", lease.OutcomeLost}).Draw(t, "outcome"); outcome == "" {
		p.same(t, p.memory.Release(p.ctx, g[1]), p.redis.Release(p.ctx, g[0]), g)
	} else {
		p.same(t, p.memory.Settle(p.ctx, g[1], outcome), p.redis.Settle(p.ctx, g[0], outcome), g)
	}
}

func (p *pair) same(t *rapid.T, want, got error, about any) {
	if want == nil {
		require.NoError(t, got, "%+v", about)
		return
	}
	require.ErrorIs(t, want, lease.ErrFenced)
	require.ErrorIs(t, got, lease.ErrFenced, "%+v", about)
}

func (p *pair) pass(t *rapid.T) {
	pass := lease.Pass{Name: drawName(t), Outcome: "missed", Request: p.request()}
	r, err := p.memory.Inspect(p.ctx, pass.Name)
	require.NoError(t, err)
	pass.From = r.Mark + rapid.Int64Range(-min(1, r.Mark), 1).Draw(t, "beside the mark")
	pass.To = pass.From + rapid.Int64Range(1, 3).Draw(t, "occasions")
	if len(p.passes) > 0 && rapid.Bool().Draw(t, "repeated") {
		pass = rapid.SampledFrom(p.passes).Draw(t, "pass")
	}
	p.passes = append(p.passes, pass)
	wantMark, want, err := p.memory.Pass(p.ctx, pass)
	require.NoError(t, err)
	mark, got, err := p.redis.Pass(p.ctx, pass)
	require.NoError(t, err)
	require.Equal(t, want, got, "%+v", pass)
	require.Equal(t, wantMark, mark, "%+v", pass)
}

func (p *pair) sync(t *rapid.T) {
	syncs := []lease.Sync{{Name: drawName(t), Mark: rapid.Int64Range(0, 6).Draw(t, "mark")}}
	if rapid.IntRange(0, 3).Draw(t, "knows") == 0 {
		syncs[0].Known = rapid.Int64Range(0, 14).Draw(t, "known")
	}
	want, err := p.memory.Sync(p.ctx, syncs)
	require.NoError(t, err)
	got, err := p.redis.Sync(p.ctx, syncs)
	require.NoError(t, err)
	require.Equal(t, p.record(want[0], 1), p.record(got[0], 0))
}

func (p *pair) forgetSometimes(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "now") != 0 {
		t.Skip("not this time")
	}
	p.forget(t)
}

func (p *pair) forget(t *rapid.T) {
	require.NoError(t, p.admin.FlushAll(p.ctx).Err())
	p.memory.Forget()
}

func (p *pair) compare(t *rapid.T) {
	for _, name := range names {
		want, err := p.memory.Inspect(p.ctx, name)
		require.NoError(t, err)
		got, err := p.redis.Inspect(p.ctx, name)
		require.NoError(t, err)
		require.Equal(t, p.record(want, 1), p.record(got, 0))
	}
}

func (p *pair) record(r lease.Record, store int) lease.Record {
	r.Token = p.rank(r.Token, store)
	r.Open = p.open(r.Open, store)
	r.Settled = slices.Clone(r.Settled)
	for i := range r.Settled {
		r.Settled[i].Token = p.rank(r.Settled[i].Token, store)
	}
	return r
}

func (p *pair) open(open []lease.Open, store int) []lease.Open {
	open = slices.Clone(open)
	for i := range open {
		open[i].Token = p.rank(open[i].Token, store)
		open[i].Left = boolean(open[i].Left)
	}
	slices.SortFunc(open, func(a, b lease.Open) int { return int(a.Occasion - b.Occasion) })
	return open
}

// rank is the token's place among those that the store has granted.
func (p *pair) rank(token int64, store int) int64 {
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

func boolean(left time.Duration) time.Duration { return min(max(left, 0), 1) }
