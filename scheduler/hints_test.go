package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/reports"

	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// outrank makes five other replicas members that claim almost every tick first.
func outrank(s *Scheduler) {
	replicas := []heartbeat.Replica{{ID: s.replica, MaxRuns: 1, JobCount: 1}}
	for i := range 5 {
		replicas = append(replicas, heartbeat.Replica{ID: fmt.Sprint("replica-", i), MaxRuns: 1000, JobCount: 1}) // of which nobody knows what they serve
	}
	s.peers.Read(replicas)
	time.Sleep(membership.SettleTime)
	s.peers.Read(replicas)
}

// backupOf returns a contender whose ticks another replica claims first, and the next one of them,
// which is due.
func backupOf(t *testing.T) (c *contender, tick int64) {
	s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil }, WithReplica("self"))
	s.trust.Begin(0, 0, true, clock.MemberClocks{})
	outrank(s)
	c = s.jobs.Load().contenders[0]
	now := c.s.clock.Ms()
	c.Read(protocol.Record{Watermark: now - 60_000}, 0, now)
	require.Greater(t, int(c.Order.Place().Rank), 1)
	c.locked(c.rescheduleLocked)
	return c, c.Cursor.Next
}

func TestReportedDecisionIsFoundWhenTheBackupLooks(t *testing.T) {
	c, tick := backupOf(t)
	at := c.slot.At()
	c.learn(reports.Report{Kind: reports.Settled, Job: c.Name, Tick: tick, Watermark: true}, "a", tick)
	require.Equal(t, at, c.slot.At(), "a report moves no timer")
	require.Empty(t, stillDue([]*admission.Slot[*contender]{&c.slot}, at))
	require.Equal(t, c.TickAfter(tick)+c.Order.Backup(), c.slot.At())
}

func TestBackupStillLooksWithoutAReport(t *testing.T) {
	c, tick := backupOf(t)
	require.Equal(t, []*admission.Slot[*contender]{&c.slot}, stillDue([]*admission.Slot[*contender]{&c.slot}, tick+c.Order.Backup()))
}

func TestReportThatIsDueEarlierMovesTheTimer(t *testing.T) {
	c, tick := backupOf(t)
	c.learn(reports.Report{Kind: reports.Settled, Job: c.Name, Tick: tick, Watermark: true}, "a", tick)
	require.Empty(t, stillDue([]*admission.Slot[*contender]{&c.slot}, c.slot.At()))
	before := c.slot.At() // in the minute after
	c.learn(reports.Report{Kind: reports.Granted, Job: c.Name, Tick: tick, Until: tick + 50}, "a", tick)
	require.Less(t, c.slot.At(), before)
	require.LessOrEqual(t, c.slot.At(), tick+50+c.Order.Takeover("a"))
}
