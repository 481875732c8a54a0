package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// backupOf returns a contender whose ticks another replica claims first, and the next one of them,
// which is due.
func backupOf(t *testing.T) (c *contender, tick int64) {
	s := fleetOfOne(t, new(memlease.Store), 1, func(context.Context, jobs.Run) error { return nil }, WithReplica("self"))
	s.trust.state = clockTrusted
	c = s.jobs.Load().contenders[0]
	members := []member{{id: "self", weight: 1e-3}}
	for i := range 19 {
		members = append(members, member{id: string(rune('a' + i)), weight: 1})
	}
	s.peers.ranking.Store(newRanking("self", members))
	s.peers.readAt.Store(int64(time.Since(s.peers.base)))
	now := c.s.clock.ms()
	c.synced = true
	c.cursor = cursor{}.advance(now-60_000, c.tickAfter)
	require.Greater(t, int(c.placeLocked().rank), 1)
	c.reschedule()
	return c, c.cursor.next
}

func TestReportedDecisionIsFoundWhenTheBackupLooks(t *testing.T) {
	c, tick := backupOf(t)
	at := c.actAt
	c.learn(report{kind: progressSettled, job: c.name, tick: tick, watermark: true}, "a", tick)
	require.Equal(t, at, c.actAt, "a report moves no timer")
	require.Empty(t, stillDue([]*contender{c}, at))
	require.Equal(t, c.tickAfter(tick)+c.backupLocked(), c.actAt)
}

func TestBackupStillLooksWithoutAReport(t *testing.T) {
	c, tick := backupOf(t)
	require.Equal(t, []*contender{c}, stillDue([]*contender{c}, tick+lastBackup))
}

func TestReportThatIsDueEarlierMovesTheTimer(t *testing.T) {
	c, tick := backupOf(t)
	c.learn(report{kind: progressSettled, job: c.name, tick: tick, watermark: true}, "a", tick)
	require.Empty(t, stillDue([]*contender{c}, c.actAt))
	before := c.actAt // in the minute after
	c.learn(report{kind: progressGranted, job: c.name, tick: tick, until: tick + 50}, "a", tick)
	require.Less(t, c.actAt, before)
	require.LessOrEqual(t, c.actAt, tick+50+lastTakeover)
}

func TestJobsShareWhatIsTheSame(t *testing.T) {
	define := func(k *common, name, schedule string, options ...jobs.Option) *definition {
		job, err := jobs.New(name, schedule, func(context.Context, jobs.Run) error { return nil }, options...)
		require.NoError(t, err)
		return k.define(job)
	}
	var k common
	a, b := define(&k, "a", "* * * * *"), define(&k, "b", "* * * * *", jobs.WithGroups("g"))
	require.Same(t, a.spec, b.spec)
	require.Same(t, a.ticks, b.ticks)
	c := define(&k, "c", "* * * * *", jobs.WithTimezone("Asia/Tokyo"), jobs.WithTimeout(time.Second))
	require.NotSame(t, a.spec, c.spec)
	require.NotSame(t, a.ticks, c.ticks, "another time zone")
	require.NotSame(t, define(&k, "d", "H H * * *").ticks, define(&k, "e", "H H * * *").ticks, "H depends on the name")
	require.EqualValues(t, 120_000, a.tickAfter(60_000))
	require.EqualValues(t, 180_000, b.tickAfter(120_000))
	require.EqualValues(t, 120_000, b.tickAfter(60_000))
}
