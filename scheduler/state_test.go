package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/plan"

	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

func TestStateFollowsFromWhatIsKnown(t *testing.T) {
	const next = 1_800_000_000_000 // a whole minute
	for name, test := range map[string]struct {
		now    int64
		change func(c *contender)
		want   step
	}{
		"before its tick":           {next - 1, func(*contender) {}, step{state: resting, at: next}},
		"due":                       {next, func(*contender) {}, step{state: claiming, at: next}},
		"no further tick":           {next, func(c *contender) { c.cursor.Next = 0 }, step{state: idle}},
		"removed":                   {next, func(c *contender) { c.gone = true }, step{state: removed}},
		"the replica stops":         {next, func(c *contender) { c.s.stopping.Store(true) }, step{state: removed}},
		"the clock has stepped":     {next, func(c *contender) { c.s.trust.Look(0, time.Hour, 0, 0) }, step{state: untrusted}},
		"its record is not read":    {next, func(c *contender) { c.synced = false }, step{state: unread}},
		"left to another":           {next, func(c *contender) { c.from = next + 7 }, step{state: deferring, at: next + 7}},
		"after a loss":              {next, func(c *contender) { c.notBefore = next + 7 }, step{state: settling, at: next + 7}},
		"an earlier tick runs":      {next, func(c *contender) { c.rest = rest{blocked, next + 7} }, step{state: blocked, at: next + 7}},
		"no room":                   {next, func(c *contender) { c.rest = rest{crowded, next + 7} }, step{state: crowded, at: next + 7}},
		"no room, and now there is": {next + 7, func(c *contender) { c.rest = rest{crowded, next + 7} }, step{state: claiming, at: next + 7}},
		"a request is pending":      {next, func(c *contender) { c.pending = new(request) }, step{state: retrying, at: 1}},
		"it has failed":             {next, func(c *contender) { c.pending, c.rest = new(request), rest{retrying, next + 7} }, step{state: retrying, at: next + 7}},
		"another replica runs one":  {next - 9, func(c *contender) { c.open.set(look{tick: 5, at: next - 2}) }, step{state: watching, at: next - 2}},
		"until after the next":      {next - 9, func(c *contender) { c.open.set(look{tick: 5, at: next + 2}) }, step{state: resting, at: next}},
		"its lease has run out":     {next, func(c *contender) { c.open = looks{{tick: 5, at: next}, {tick: 6, at: next - 1}} }, step{state: takingOver, at: next, tick: 5}},
		"there may be room for it":  {next - 9, func(c *contender) { c.open.set(look{tick: 5, at: next + 2, short: true}) }, step{state: takingOver, at: next - 9, tick: 5}},
		"reported to be decided":    {next, func(c *contender) { c.hints.watermark = next }, step{state: confirming, at: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil })
			s.trust.Begin(0, 0, true, clock.MemberClocks{})
			c := s.jobs.Load().contenders[0]
			c.synced, c.cursor = true, plan.Cursor{}.Advance(next-1, c.TickAfter)
			test.change(c)
			got := c.stepLocked(test.now)
			require.Equal(t, test.want.state.String(), got.state.String())
			require.Equal(t, test.want, got)
		})
	}
}

func TestEveryStateHasAName(t *testing.T) {
	require.Len(t, stateNames, int(takingOver)+1)
	require.Equal(t, "state -1", state(-1).String())
	require.Equal(t, "state 99", state(99).String())
}

func TestPendingClaimIsRepeatedAsItWas(t *testing.T) {
	s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil })
	c := s.jobs.Load().contenders[0]
	c.synced = true
	first := c.beginLocked(&request{claim: c.claim(60_000)})
	id := first.claim.Request
	c.receiveLocked(first, reply{failed: true})
	require.Equal(t, retrying, c.rest.state)
	require.Same(t, first, c.pending)
	require.Same(t, first, c.beginLocked(c.pending))
	require.Equal(t, id, first.claim.Request)

	c.receiveLocked(first, reply{received: time.Now(), answer: protocol.Answer{Status: protocol.Decided, Watermark: 60_000}})
	require.Nil(t, c.pending)
	require.EqualValues(t, 60_000, c.cursor.Watermark)
}

func TestFailedSkipIsDecidedAgain(t *testing.T) {
	s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil })
	c := s.jobs.Load().contenders[0]
	r := &request{skip: c.skip(plan.Decision{Action: plan.SkipTicks, Tick: 60_000, Count: 1})}
	c.beginLocked(r)
	c.receiveLocked(r, reply{failed: true})
	require.Same(t, r, c.pending, "at once again: it may have been done")
	c.beginLocked(c.pending)
	c.receiveLocked(r, reply{failed: true})
	require.Nil(t, c.pending)
	require.Equal(t, retrying, c.rest.state)
}
