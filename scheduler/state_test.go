package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/job"

	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

func TestNothingIsDoneAboutARemovedJobNorByAClockThatStepped(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *contender)
		want   job.State
	}{
		"removed":               {func(c *contender) { c.gone = true }, job.Removed},
		"the replica stops":     {func(c *contender) { c.s.stopping.Store(true) }, job.Removed},
		"the clock has stepped": {func(c *contender) { c.s.trust.Look(0, time.Hour, 0, 0) }, job.Untrusted},
		"none of these":         {func(*contender) {}, job.Unread},
	} {
		t.Run(name, func(t *testing.T) {
			s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil })
			s.trust.Begin(0, 0, true, clock.MemberClocks{})
			c := s.jobs.Load().contenders[0]
			test.change(c)
			require.Equal(t, job.Step{State: test.want}, c.stepLocked(1_800_000_000_000))
		})
	}
}

func TestPendingClaimIsRepeatedAsItWas(t *testing.T) {
	s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil })
	c := s.jobs.Load().contenders[0]
	c.Read(protocol.Record{Watermark: 1}, 0, 0)
	first := c.Decide(60_000, false)
	c.beginLocked(first)
	id := first.Claim.Request
	c.receiveLocked(first, reply{failed: true})
	require.Equal(t, job.Retrying, c.Rest.State)
	require.Same(t, first, c.Pending)
	require.Same(t, first, c.doLocked(job.Step{State: job.Retrying}, 60_000))
	require.Equal(t, id, first.Claim.Request)
	require.True(t, first.Claim.Repeated)

	c.receiveLocked(first, reply{received: time.Now(), answer: protocol.Answer{Status: protocol.Decided, Watermark: 60_000}})
	require.Nil(t, c.Pending)
	require.EqualValues(t, 60_000, c.Cursor.Watermark)
}

func TestFailedSkipIsDecidedAgain(t *testing.T) {
	s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil })
	c := s.jobs.Load().contenders[0]
	c.Read(protocol.Record{Watermark: 1}, 0, 0)
	r := c.Decide(1_800_000_000_000, false) // all but the newest are too old
	require.True(t, r.Skips())
	c.beginLocked(r)
	c.receiveLocked(r, reply{failed: true})
	require.Same(t, r, c.Pending, "at once again: it may have been done")
	c.beginLocked(c.Pending)
	c.receiveLocked(r, reply{failed: true})
	require.Nil(t, c.Pending)
	require.Equal(t, job.Retrying, c.Rest.State)
}
