package redislease_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

// The script that takes units of a limit and package record come to the same answers, and to the
// same state, whatever was taken before, and however the clock goes.
func TestLimitsOnRedisAreThoseOfTheRules(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t, redistest.WithClock())
	s, admin := open(t, srv.Addr(), redislease.WithTimeout(20*time.Second)), srv.Client(t)
	rapid.Check(t, func(t *rapid.T) {
		p := &limitPair{store: s, setClock: srv.SetClock, sent: map[string]engine.Taking{}}
		p.setClock(0)
		require.NoError(t, admin.FlushAll(context.Background()).Err())
		now, _, err := s.Time(context.Background())
		require.NoError(t, err)
		p.now = now
		t.Repeat(map[string]func(*rapid.T){
			"take":      p.take,
			"take more": p.take,
			"take much": p.take,
			"repeat":    p.repeat,
			"pause":     func(t *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(0, 5000).Draw(t, "us")) * time.Microsecond) },
			"step":      p.step,
			"forget":    func(t *rapid.T) { p.forget(t, func() error { return admin.FlushAll(context.Background()).Err() }) },
		})
	})
}

// limitPair is a limit on Redis, and what the rules make of the same requests at the same times.
type limitPair struct {
	store    *redislease.Store
	setClock func(ahead time.Duration)

	rules   record.Limit
	now     time.Time // of Redis, when it was asked last
	stamp   int64
	ahead   time.Duration
	batches int
	sent    map[string]engine.Taking // by client, since the clock was stepped
}

func anyTake(t *rapid.T) protocol.Take {
	l := rapid.SampledFrom([]protocol.Limit{
		{Count: 3, Per: time.Second, Burst: 5}, {Count: 7, Per: 10 * time.Millisecond, Burst: 40},
		{Count: 1_000_000_000, Per: 365 * 24 * time.Hour, Burst: 999_999_937}, {Count: 10_000_000, Per: time.Second, Burst: 3},
		{Window: true, Count: 5, Per: time.Millisecond}, {Window: true, Count: 40, Per: 10 * time.Millisecond},
		{Window: true, Count: 30, Per: time.Second/7 + 1}, {Window: true, Count: 1_000_000_000, Per: 365 * 24 * time.Hour},
	}).Draw(t, "limit")
	return protocol.Take{Name: "name", Limit: l, Units: rapid.IntRange(1, min(l.Most(), 1+l.Most()/4)).Draw(t, "units"), Waits: rapid.Bool().Draw(t, "waits")}
}

func (p *limitPair) take(t *rapid.T) {
	p.batches++
	client := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "client")
	q := engine.Taking{
		Name: "name", ID: client + "-" + strconv.Itoa(p.batches), Until: p.now.Add(record.TakenFor), Known: p.stamp, Instead: -1,
		List: rapid.SliceOfN(rapid.Custom(anyTake), 1, record.MaxBatch).Draw(t, "list"),
	}
	if rapid.Bool().Draw(t, "single") {
		q.List = q.List[:1]
	}
	p.sent[client] = q
	p.ask(t, &q)
}

func (p *limitPair) repeat(t *rapid.T) {
	q, ok := p.sent[rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "client")]
	if !ok {
		t.Skip("nothing was sent yet")
	}
	q.Known = p.stamp
	p.ask(t, &q)
}

func (p *limitPair) ask(t *rapid.T, q *engine.Taking) {
	a, err := redislease.Take(p.store, q)
	require.NoError(t, err)
	p.now = a.Now
	if late := a.Now.After(q.Until); late || q.Until.After(a.Now.Add(2*record.TakenFor)) {
		require.False(t, a.Decided)
		return
	}
	if !a.Decided { // it has lost what was taken
		require.Less(t, a.Stamp, q.Known)
		q.Instead, q.Lost = a.Stamp, a.Limit
		q.Lost.Restore(&record.Limit{Full: p.rules.Full, Slots: p.rules.Slots})
		a, err = redislease.Take(p.store, q)
		require.NoError(t, err)
		require.True(t, a.Decided)
		p.rules = record.Limit{Full: q.Lost.Full, Slots: slices.Clone(q.Lost.Slots)}
	}
	require.Equal(t, p.shown(), fmt.Sprint(a.Limit.Full.UnixNano(), a.Limit.Slots), "before the batch")
	got, granted := a.Limit.Decide(q.List, a.Decision, record.At(a.Now))
	if !a.Repeated {
		require.Equal(t, granted, a.OK)
	}
	want, known := p.rules.Take(q.ID, q.Until, q.List, 0, record.At(a.Now))
	require.True(t, known)
	require.Equal(t, want, got)
	p.stamp = a.Stamp
}

// shown is the state of the rules.
func (p *limitPair) shown() string { return fmt.Sprint(p.rules.Full.UnixNano(), p.rules.Slots) }

// step sets the server's clock back or ahead by more than a batch may be late.
func (p *limitPair) step(t *rapid.T) {
	p.ahead += rapid.SampledFrom([]time.Duration{-time.Hour, time.Hour, time.Minute}).Draw(t, "step")
	p.setClock(p.ahead)
	p.now, p.sent = p.now.Add(10*time.Hour), map[string]engine.Taking{}
	p.take(t) // it is refused, and says what time it is
	clear(p.sent)
}

func (p *limitPair) forget(t *rapid.T, flush func() error) {
	if rapid.IntRange(0, 3).Draw(t, "now") != 0 {
		t.Skip("not this time")
	}
	require.NoError(t, flush())
	clear(p.sent)
}
