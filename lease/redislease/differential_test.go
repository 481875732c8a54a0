package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
// between, the store on Redis and the one in memory answer alike, and remember alike.
func TestRedisAndMemoryAnswerAlike(t *testing.T) {
	srv := redistest.Start(t)
	s, admin := open(t, srv.Addr(), redislease.WithTimeout(20*time.Second)), srv.Client(t)
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{
			ctx: context.Background(), redis: s, memory: new(memlease.Store), admin: admin,
			bases: [][2]int64{{0, 0}}, terms: []time.Duration{tiny, long, long},
		}
		if p.future = rapid.Bool().Draw(t, "with a future"); p.future {
			ahead := time.Now().Add(24 * time.Hour).UnixMilli()
			p.bases = append(p.bases, [2]int64{ahead, ahead})
		}
		p.forget(t)
		t.Repeat(map[string]func(*rapid.T){
			"":        p.compare,
			"claim":   p.claim,
			"again":   p.claim,
			"repeat":  p.repeat,
			"renew":   p.renew,
			"end":     p.end,
			"ending":  p.end,
			"pass":    p.pass,
			"sync":    p.sync,
			"pause":   p.pause,
			"resume":  p.resume,
			"trigger": p.trigger,
			"cancel":  p.cancel,
			"repair":  p.repair,
			"forget":  p.forgetSometimes,
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

	claims   [][2]lease.Claim // as each store was asked
	grants   [][2]lease.Grant // as each store granted them
	passes   [][2]lease.Pass
	triggers []lease.Trigger
	requests int
	terms    []time.Duration // of leases

	bases  [][2]int64 // see spot
	future bool       // the last of them lies in the future
}

const tiny = time.Millisecond

var (
	names = []string{"one", "two"}
	notes = []string{"", "a note", "two\nlines \"and\" more ", strings.Repeat("é", lease.MaxNote)}
)

// outlast returns when a tiny lease has run out.
func outlast() { time.Sleep(3 * tiny) }

func drawName(t *rapid.T) string { return rapid.SampledFrom(names).Draw(t, "name") }

func drawNote(t *rapid.T) string { return rapid.SampledFrom(notes).Draw(t, "note") }

func (p *pair) request() string {
	p.requests++
	return fmt.Sprint(p.requests) // so that it could be taken for an occasion
}

func (p *pair) claim(t *rapid.T) {
	c := lease.Claim{
		Name:      drawName(t),
		Holder:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder"),
		Request:   p.request(),
		Term:      rapid.SampledFrom(p.terms).Draw(t, "term"),
		Takeovers: rapid.IntRange(0, 2).Draw(t, "takeovers"),
		Overlap: rapid.SampledFrom([]lease.Overlap{
			lease.OverlapAllow, lease.OverlapAllow, lease.OverlapSkip, lease.OverlapWait,
			lease.OverlapQueue, lease.OverlapQueue, lease.OverlapReplace, lease.OverlapReplace,
		}).Draw(t, "overlap"),
		OnlyOpen: rapid.IntRange(0, 4).Draw(t, "only open") == 0,
	}
	switch rapid.IntRange(0, 9).Draw(t, "rare") {
	case 1:
		c.NotBefore = time.Now().Add(time.Hour)
	case 2:
		c.NotAfter = time.Now().Add(-time.Hour)
	case 3:
		c.Until = time.Now().Add(-time.Hour)
	case 4:
		c.Until = time.Now().Add(time.Hour)
	}
	switch rapid.IntRange(0, 5).Draw(t, "takes over until") {
	case 1:
		c.TakeoverUntil = time.Now().Add(-time.Hour)
	case 2:
		c.TakeoverUntil = time.Now().Add(time.Hour) // past, when the clock has stepped
	}
	both := [2]lease.Claim{c, c}
	occasion, known := p.spot(t), [2]int64{}
	if rapid.IntRange(0, 9).Draw(t, "knows") == 0 {
		known = p.spot(t)
	}
	for i := range both {
		both[i].Occasion, both[i].Known = occasion[i], known[i]
	}
	p.claims = append(p.claims, both)
	p.ask(t, both)
}

func (p *pair) repeat(t *rapid.T) {
	if len(p.claims) == 0 {
		t.Skip("nothing was claimed yet")
	}
	c := rapid.SampledFrom(p.claims[max(0, len(p.claims)-8):]).Draw(t, "claim")
	if o := rapid.IntRange(-8, 4).Draw(t, "overlap"); o >= 0 {
		c[0].Overlap, c[1].Overlap = lease.Overlap(o), lease.Overlap(o)
	}
	p.ask(t, c)
}

func (p *pair) ask(t *rapid.T, c [2]lease.Claim) {
	a, err := p.redis.Claim(p.ctx, c[0])
	require.NoError(t, err)
	b, err := p.memory.Claim(p.ctx, c[1])
	require.NoError(t, err)
	if a.Status == lease.Granted && b.Status == lease.Granted {
		p.grants = append(p.grants, [2]lease.Grant{grantOf(c[0], a), grantOf(c[1], b)})
		if c[0].Term == tiny {
			outlast()
		}
	}
	require.Equal(t, p.answer(b, 1), p.answer(a, 0), "%+v", c[0])
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
	g[0].Term = rapid.SampledFrom(p.terms).Draw(t, "term")
	g[1].Term = g[0].Term
	g[0].Note = drawNote(t)
	g[1].Note = g[0].Note
	return g
}

func (p *pair) renew(t *rapid.T) {
	var a, b []lease.Grant
	for range rapid.IntRange(1, 4).Draw(t, "grants") {
		g := p.grant(t)
		a, b = append(a, g[0]), append(b, g[1])
	}
	for i := range a { // one by one: what one call has to do for the same name it does in no order
		p.same(t, p.memory.Renew(p.ctx, b[i:i+1])[0], p.redis.Renew(p.ctx, a[i:i+1])[0], a[i])
		if a[i].Term == tiny {
			outlast()
		}
	}
}

func (p *pair) end(t *rapid.T) {
	g := p.grant(t)
	outcome := rapid.SampledFrom([]lease.Outcome{
		"", "", "succeeded", "failed", lease.OutcomeLost, lease.OutcomeReplaced, lease.OutcomeCancelled,
	}).Draw(t, "outcome")
	if outcome == "" {
		p.same(t, p.memory.Release(p.ctx, g[1]), p.redis.Release(p.ctx, g[0]), g)
	} else {
		p.same(t, p.memory.Settle(p.ctx, g[1], outcome), p.redis.Settle(p.ctx, g[0], outcome), g)
	}
}

func (p *pair) same(t *rapid.T, want, got error, about any) {
	for _, err := range []error{lease.ErrFenced, lease.ErrReplaced, lease.ErrCancelled, lease.ErrUnknown} {
		if errors.Is(want, err) {
			require.ErrorIs(t, got, err, "%+v", about)
			return
		}
	}
	require.NoError(t, want, "%+v", about)
	require.NoError(t, got, "%+v", about)
}

func (p *pair) pass(t *rapid.T) {
	pass := lease.Pass{Name: drawName(t), Outcome: "missed", Request: p.request(), Holder: "a", Note: drawNote(t)}
	a, b := p.inspect(t, pass.Name)
	beside := rapid.Int64Range(-min(1, b.Mark), 1).Draw(t, "beside the mark")
	both, to := [2]lease.Pass{pass, pass}, p.spot(t)
	for i, mark := range []int64{a.Mark, b.Mark} {
		both[i].From, both[i].To = mark+beside, to[i]
	}
	if both[0].To <= both[0].From || both[1].To <= both[1].From { // what was triggered differs by a moment
		t.Skip("it is decided")
	}
	if len(p.passes) > 0 && rapid.Bool().Draw(t, "repeated") {
		both = rapid.SampledFrom(p.passes).Draw(t, "pass")
	}
	p.passes = append(p.passes, both)
	wantMark, want, err := p.memory.Pass(p.ctx, both[1])
	require.NoError(t, err)
	mark, got, err := p.redis.Pass(p.ctx, both[0])
	require.NoError(t, err)
	require.Equal(t, want, got, "%+v", both[0])
	require.Equal(t, p.place(wantMark, 1), p.place(mark, 0), "%+v", both[0])
}

func (p *pair) sync(t *rapid.T) {
	y := lease.Sync{Name: drawName(t), Revision: rapid.SampledFrom([]string{"", "r1", "r2", "r3"}).Draw(t, "revision")}
	y.Schedule = rapid.SampledFrom([]string{"", "UTC @every 1s", "Europe/Berlin 0 2 * * %-1,'"}).Draw(t, "schedule")
	p.advance() // a schedule's since is compared with marks
	if rapid.IntRange(0, 4).Draw(t, "paused") == 0 {
		y.Paused = &lease.Pause{By: "ops", Why: drawNote(t), Since: time.Now()}
	}
	both, mark, known := [2]lease.Sync{y, y}, p.spot(t), [2]int64{}
	if rapid.IntRange(0, 3).Draw(t, "knows") == 0 {
		known = p.spot(t)
	}
	for i := range both {
		both[i].Mark, both[i].Known = mark[i], known[i]
	}
	want, err := p.memory.Sync(p.ctx, both[1:])
	require.NoError(t, err)
	got, err := p.redis.Sync(p.ctx, both[:1])
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

func (p *pair) inspect(t *rapid.T, name string) (a, b lease.Record) {
	b, err := p.memory.Inspect(p.ctx, name)
	require.NoError(t, err)
	a, err = p.redis.Inspect(p.ctx, name)
	require.NoError(t, err)
	return a, b
}

func (p *pair) compare(t *rapid.T) {
	for _, name := range names {
		got, want := p.inspect(t, name)
		require.Equal(t, p.record(want, 1), p.record(got, 0))
	}
}
