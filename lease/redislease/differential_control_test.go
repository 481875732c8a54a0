package redislease_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/lease"
)

// spot draws an occasion. What was triggered or resumed is numbered by the time at which that was, which differs between
// the stores: an occasion is a base, which is one of those numbers or 0, and a few more.
func (p *pair) spot(t *rapid.T) [2]int64 {
	base, most := p.bases[0], int64(12)
	if p.future && rapid.IntRange(0, 2).Draw(t, "ahead") == 0 {
		base = p.bases[len(p.bases)-1]
	} else if len(p.bases) > 1 && rapid.IntRange(0, 3).Draw(t, "late") > 0 {
		base, most = rapid.SampledFrom(p.bases[max(1, len(p.bases)-3):]).Draw(t, "base"), apart-1
	}
	n := rapid.Int64Range(0, most).Draw(t, "more")
	return [2]int64{base[0] + n, base[1] + n}
}

// place is what an occasion of a store is called in both.
func (p *pair) place(occasion int64, store int) int64 {
	i := len(p.bases) - 1
	for p.bases[i][store] > occasion {
		i--
	}
	return 1000*int64(i) + occasion - p.bases[i][store]
}

// apart is how far apart bases are at least, but for the first.
const apart = 4

// last is the newest base that does not lie in the future.
func (p *pair) last() [2]int64 {
	if p.future {
		return p.bases[len(p.bases)-2]
	}
	return p.bases[len(p.bases)-1]
}

// addBase adds one that is newer than the last.
func (p *pair) addBase(base [2]int64) {
	at := len(p.bases)
	if p.future {
		at--
	}
	p.bases = slices.Insert(p.bases, at, base)
}

// repair brings marks back that lie in the future.
func (p *pair) repair(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "now") != 0 {
		t.Skip("not this time")
	}
	p.advance()
	q := lease.Repair{Name: drawName(t)}
	want, wantErr := p.memory.Repair(p.ctx, q)
	got, err := p.redis.Repair(p.ctx, q)
	p.same(t, wantErr, err, q)
	require.Equal(t, p.place(want.Before, 1), p.place(got.Before, 0))
	require.Equal(t, want.Mark != want.Before, got.Mark != got.Before)
	require.Equal(t, want.Changed, got.Changed)
	require.Equal(t, want.Exceptions, got.Exceptions)
	if want.Mark != want.Before {
		p.addBase([2]int64{got.Mark, want.Mark})
	}
}

// advance returns when whatever is numbered by the time can be a base.
func (p *pair) advance() {
	last := p.last()
	time.Sleep(time.Until(time.UnixMilli(max(last[0], last[1]) + apart)))
}

func (p *pair) pause(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "now") != 0 {
		t.Skip("not this time")
	}
	name, pause := drawName(t), lease.Pause{By: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "by"), Why: drawNote(t)}
	want, wantErr := p.memory.Pause(p.ctx, name, pause)
	got, err := p.redis.Pause(p.ctx, name, pause)
	p.same(t, wantErr, err, pause)
	require.Equal(t, paused(&want), paused(&got))
}

func (p *pair) resume(t *rapid.T) {
	name := drawName(t)
	a, b := p.inspect(t, name)
	p.advance()
	want, wantErr := p.memory.Resume(p.ctx, name, lease.Resume{By: "c"})
	got, err := p.redis.Resume(p.ctx, name, lease.Resume{By: "c"})
	p.same(t, wantErr, err, name)
	require.Equal(t, paused(want), paused(got))
	marks := [2]int64{a.Mark, b.Mark}
	a, b = p.inspect(t, name)
	require.Equal(t, b.Mark != marks[1], a.Mark != marks[0])
	if b.Mark != marks[1] {
		p.addBase([2]int64{a.Mark, b.Mark})
	}
}

func (p *pair) trigger(t *rapid.T) {
	trigger := lease.Trigger{
		Name: drawName(t), By: "ops", Request: p.request(),
		Beside: rapid.Bool().Draw(t, "beside"),
	}
	if rapid.IntRange(0, 2).Draw(t, "with a key") == 0 {
		trigger.Key = rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key")
		trigger.Window = rapid.SampledFrom([]time.Duration{tiny, long}).Draw(t, "window")
	}
	if rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
		trigger.Every, trigger.Burst = time.Hour, rapid.IntRange(1, 3).Draw(t, "burst")
	}
	if len(p.triggers) > 0 && rapid.IntRange(0, 3).Draw(t, "repeated") == 0 {
		trigger = rapid.SampledFrom(p.triggers).Draw(t, "trigger")
	}
	p.triggers = append(p.triggers, trigger)
	p.advance()
	b, wantErr := p.memory.Trigger(p.ctx, trigger)
	a, err := p.redis.Trigger(p.ctx, trigger)
	p.same(t, wantErr, err, trigger)
	require.Equal(t, b.Status, a.Status, "%+v", trigger)
	if last := p.last(); b.Status == lease.Opened && b.Occasion > last[1] {
		require.Greater(t, a.Occasion, last[0], "%+v", trigger)
		p.addBase([2]int64{a.Occasion, b.Occasion})
	}
	require.Equal(t, p.place(b.Occasion, 1), p.place(a.Occasion, 0), "%+v", trigger)
	require.Equal(t, boolean(b.Wait), boolean(a.Wait))
	if trigger.Window == tiny {
		outlast()
	}
}

func (p *pair) cancel(t *rapid.T) {
	c := lease.Cancel{Name: drawName(t), By: rapid.SampledFrom([]string{"ops", "other"}).Draw(t, "by")}
	occasion := p.spot(t)
	a, b := p.inspect(t, c.Name)
	if open := slices.IndexFunc(b.Open, func(o lease.Open) bool { return o.Occasion != 0 }); open >= 0 && rapid.IntRange(0, 3).Draw(t, "open") > 0 {
		occasion = [2]int64{a.Open[open].Occasion, b.Open[open].Occasion}
	}
	if occasion[0] == 0 || occasion[1] == 0 {
		t.Skip("plain locks cannot be cancelled")
	}
	both := [2]lease.Cancel{c, c}
	both[0].Occasion, both[1].Occasion = occasion[0], occasion[1]
	want, wantErr := p.memory.Cancel(p.ctx, both[1])
	got, err := p.redis.Cancel(p.ctx, both[0])
	p.same(t, wantErr, err, both[0])
	want.Left, got.Left = boolean(want.Left), boolean(got.Left)
	require.Equal(t, want, got, "%+v", both[0])
}

// answer is what both stores answer.
func (p *pair) answer(a lease.Answer, store int) lease.Answer {
	a.Token = p.rank(a.Token, store)
	if f := a.Former; f != nil {
		rest := *f
		rest.Token = p.rank(f.Token, store)
		if !f.Ended.IsZero() {
			rest.Ended = time.Unix(1, 0)
		}
		a.Former = &rest
	}
	a.Left = boolean(a.Left)
	a.Mark = p.place(a.Mark, store)
	a.Now = time.Time{}
	a.Open = p.open(a.Open, store)
	a.Settled = p.settled(a.Settled, store)
	return a
}

func (p *pair) record(r lease.Record, store int) lease.Record {
	r.Token = p.rank(r.Token, store)
	r.Mark = p.place(r.Mark, store)
	r.Paused, r.Revised = paused(r.Paused), time.Time{}
	r.Open = p.open(r.Open, store)
	r.Settled = p.settled(r.Settled, store)
	r.Schedules = slices.Clone(r.Schedules)
	for i := range r.Schedules {
		r.Schedules[i].Since = time.Time{}
	}
	return r
}

func paused(p *lease.Pause) *lease.Pause {
	if p == nil {
		return nil
	}
	return &lease.Pause{By: p.By, Why: p.Why}
}

func (p *pair) settled(settled []lease.Settled, store int) []lease.Settled {
	settled = slices.Clone(settled)
	for i := range settled {
		s := &settled[i]
		s.Token = p.rank(s.Token, store)
		s.Occasion, s.From = p.place(s.Occasion, store), p.place(s.From, store)
		s.At = time.Time{}
	}
	return settled
}

func (p *pair) open(open []lease.Open, store int) []lease.Open {
	open = slices.Clone(open)
	for i := range open {
		open[i].Occasion = p.place(open[i].Occasion, store)
		open[i].Token = p.rank(open[i].Token, store)
		open[i].Left = boolean(open[i].Left)
	}
	slices.SortFunc(open, func(a, b lease.Open) int { return cmp.Compare(a.Occasion, b.Occasion) }) // a renewal may change the order
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
