package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/driver"
)

// replica is a session over a store that others use as well.
func replica(t *testing.T, m *driver.Memory) *engine.Session {
	t.Helper()
	s, err := engine.NewSession(m, "fleet", engine.Options{})
	require.NoError(t, err)
	return s
}

func claim(tick int64, holder string) protocol.Claim {
	return protocol.Claim{Name: "job", Tick: tick, Holder: holder, Request: "r-" + holder, TTL: time.Minute, Takeovers: 1}
}

// running has a replica run tick 100.
func running(t *testing.T) (m *driver.Memory, s *engine.Session, g protocol.Grant) {
	t.Helper()
	m = new(driver.Memory)
	s = replica(t, m)
	_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
	require.NoError(t, err)
	a, err := s.Claim(t.Context(), claim(100, "a"))
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return m, s, protocol.Grant{Name: "job", Tick: 100, Holder: "a", Request: "r-a", Token: a.Token, Attempt: 1, Takeovers: 1, TTL: time.Minute}
}

// settledSince has a replica settle tick 100 after a snapshot was taken in which it runs.
func settledSince(t *testing.T) (m *driver.Memory, s *engine.Session, g protocol.Grant, goBack func()) {
	t.Helper()
	m, s, g = running(t)
	goBack = m.Snapshot()
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	return m, s, g, goBack
}

func requireSettledOnce(t *testing.T, s *engine.Session, g protocol.Grant) {
	t.Helper()
	r, err := s.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, r.Open)
	require.Len(t, r.Settled, 1)
	require.Equal(t, g.Token, r.Settled[0].Token)
	require.Equal(t, protocol.Outcome("succeeded"), r.Settled[0].Outcome)
}

// requireUnknown has a replica find out that the store went back.
func requireUnknown(t *testing.T, s *engine.Session, c protocol.Claim) {
	t.Helper()
	a, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Unknown, a.Status)
}

// TestClaimAfterStoreWentBackWaitsForOthers: what the claimer knows is brought back, and another
// one knows more.
func TestClaimAfterStoreWentBackWaitsForOthers(t *testing.T) {
	m, b, g := running(t)
	goBack := m.Snapshot()
	_, err := b.Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: "next"}})
	require.NoError(t, err)
	a := replica(t, m)
	_, err = a.Sync(t.Context(), []protocol.Sync{{Name: "job"}}) // it sees tick 100 run
	require.NoError(t, err)
	require.NoError(t, b.Settle(t.Context(), g, "succeeded"))
	goBack()
	c := claim(101, "a")
	c.Overlap = protocol.OverlapSkip
	requireUnknown(t, a, c)
	_, err = b.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	x, err := a.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, x.Status, "tick 100 does not run any more")
	require.Empty(t, x.Open)
}

func TestPassOfStoreThatWentBackSettlesNothing(t *testing.T) {
	_, s, g, goBack := settledSince(t)
	goBack()
	p := protocol.Skip{Name: "job", From: 100, To: 200, Outcome: "missed", Request: "p", Holder: "a"}
	watermark, passed, err := s.Skip(t.Context(), p)
	require.NoError(t, err)
	require.False(t, passed)
	require.Less(t, watermark, p.From)
	requireSettledOnce(t, s, g)
	watermark, passed, err = s.Skip(t.Context(), p)
	require.NoError(t, err)
	require.True(t, passed)
	require.EqualValues(t, 200, watermark)
}

func TestSettledTickStaysSettledWhenStoreGoesBack(t *testing.T) {
	_, s, g, goBack := settledSince(t)
	goBack()
	requireUnknown(t, s, claim(100, "b"))
	requireSettledOnce(t, s, g)
	a, err := s.Claim(t.Context(), claim(100, "b"))
	require.NoError(t, err)
	require.Equal(t, protocol.Decided, a.Status)

	a, err = s.Claim(t.Context(), claim(101, "b"))
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	require.Empty(t, a.Open)
}

func TestSettledTickIsSettledAgainAfterSnapshotChanged(t *testing.T) {
	m, s, g, goBack := settledSince(t)
	goBack()
	_, err := replica(t, m).Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: "next"}})
	require.NoError(t, err)
	_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: "next"}})
	require.NoError(t, err)
	requireSettledOnce(t, s, g)
}

func TestVersionFromBeforeASnapshotChangesNothing(t *testing.T) {
	m, s, _, goBack := settledSince(t)
	other := replica(t, m)
	_, err := other.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	goBack()
	requireUnknown(t, other, claim(101, "b"))
	a, err := other.Claim(t.Context(), claim(101, "b"))
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	require.Empty(t, a.Open, "what it saw settled is not open")
	a, err = s.Claim(t.Context(), claim(101, "a"))
	require.NoError(t, err)
	require.Equal(t, protocol.Held, a.Status)
	require.Equal(t, "b", a.Holder)
}

func TestGrantStaysWhenStoreWentBack(t *testing.T) {
	m := new(driver.Memory)
	a, b := replica(t, m), replica(t, m)
	_, err := a.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
	require.NoError(t, err)
	_, err = b.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
	require.NoError(t, err)
	goBack := m.Snapshot()
	_, err = a.Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: "next"}})
	require.NoError(t, err)
	goBack()
	m.Step(-2 * time.Second)
	tick := time.Now().Add(-3 * time.Second).UnixMilli()
	c := claim(tick, "b")
	x, err := b.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, x.Status)
	requireUnknown(t, a, claim(tick, "a"))
	y, err := a.Claim(t.Context(), claim(tick, "a"))
	require.NoError(t, err)
	require.Equal(t, protocol.Held, y.Status, "%+v", y)
	require.Equal(t, "b", y.Holder)
}

func TestTokensRiseInEmptyStoreWithClockBehind(t *testing.T) {
	m := new(driver.Memory)
	a := replica(t, m)
	_, err := a.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
	require.NoError(t, err)
	x, err := a.Claim(t.Context(), claim(100, "a"))
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, x.Status)
	m.Forget()
	m.Step(-2 * time.Second)
	_, err = a.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 100}})
	require.NoError(t, err)
	y, err := a.Claim(t.Context(), claim(101, "a"))
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, y.Status)
	require.Greater(t, y.Token, x.Token)
}

// TestSettledTickIsNotRunAgainWhenOthersKnewLess: they write back what they have seen of it, which
// is a later version than the one in which it was settled.
func TestSettledTickIsNotRunAgainWhenOthersKnewLess(t *testing.T) {
	for before, open := range map[string]func(t *testing.T, s *engine.Session) protocol.Claim{
		"it was triggered": func(t *testing.T, s *engine.Session) protocol.Claim {
			x, err := s.Trigger(t.Context(), protocol.Trigger{Name: "job", By: "ops", Request: "t"})
			require.NoError(t, err)
			c := claim(x.Tick, "b")
			c.OnlyOpen = true
			return c
		},
		"it was to be taken over": func(t *testing.T, s *engine.Session) protocol.Claim {
			c := claim(100, "dead")
			c.TTL = time.Millisecond
			a, err := s.Claim(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, protocol.Granted, a.Status)
			time.Sleep(c.TTL)
			return claim(100, "b")
		},
	} {
		t.Run(before, func(t *testing.T) {
			m := new(driver.Memory)
			a, b := replica(t, m), replica(t, m)
			see := func(s *engine.Session) {
				t.Helper()
				_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 99}})
				require.NoError(t, err)
			}
			see(a)
			goBack := m.Snapshot()
			c := open(t, a)
			see(b)
			x, err := b.Claim(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, protocol.Granted, x.Status)
			g := protocol.Grant{Name: "job", Tick: c.Tick, Holder: c.Holder, Request: c.Request, Token: x.Token, Attempt: x.Attempt, Takeovers: 1, TTL: time.Minute}
			require.NoError(t, b.Settle(t.Context(), g, "succeeded"))
			goBack()
			see(a)
			see(b)
			c.Request = "r-next"
			x, err = b.Claim(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, protocol.Decided, x.Status)
			requireSettledOnce(t, a, g)
		})
	}
}

// contended is a store whose next changes come after one of somebody else.
type contended struct {
	*driver.Memory
	before []func()
}

func (c *contended) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	if len(c.before) > 0 && slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Change != nil }) {
		first := c.before[0]
		c.before = c.before[1:]
		first()
	}
	return c.Memory.Do(ctx, ops)
}

func TestSettledTickIsSettledAgainAfterConflicts(t *testing.T) {
	m, _, g := running(t)
	goBack := m.Snapshot()
	c := &contended{Memory: m}
	s, err := engine.NewSession(c, "fleet", engine.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	goBack()
	other := replica(t, m)
	for _, revision := range []string{"r1", "r2", "r3"} {
		c.before = append(c.before, func() {
			_, err := other.Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: revision}})
			require.NoError(t, err)
		})
	}
	_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	require.Empty(t, c.before)
	requireSettledOnce(t, s, g)
}

// failing is a store whose next changes fail.
type failing struct {
	*driver.Memory
	changes int
}

func (f *failing) Do(ctx context.Context, ops []driver.Op) []driver.Result {
	if f.changes > 0 && slices.ContainsFunc(ops, func(op driver.Op) bool { return op.Change != nil && op.Change.From.Stamp > 0 }) {
		f.changes--
		return slices.Repeat([]driver.Result{{Err: errors.New("no answer")}}, len(ops))
	}
	return f.Memory.Do(ctx, ops)
}

func TestSettledTickIsSettledAgainAfterFailures(t *testing.T) {
	m, _, g := running(t)
	goBack := m.Snapshot()
	f := &failing{Memory: m}
	s, err := engine.NewSession(f, "fleet", engine.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
	goBack()
	_, err = replica(t, m).Sync(t.Context(), []protocol.Sync{{Name: "job", Revision: "next"}})
	require.NoError(t, err)
	f.changes = 2
	sync := []protocol.Sync{{Name: "job"}}
	for range 2 {
		_, err = s.Sync(t.Context(), sync)
		require.ErrorContains(t, err, "no answer")
	}
	_, err = s.Sync(t.Context(), sync)
	require.NoError(t, err)
	requireSettledOnce(t, s, g)
}
