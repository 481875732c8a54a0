//go:build linux

package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// stalled is a supervisor whose launcher is busy forever.
func stalled() *supervisor {
	hung := &run{id: 1, start: new(protocol.Start), plan: plan{deadline: 50}}
	return &supervisor{outbox: newOutbox(), runs: map[uint64]*run{1: hung}, starting: hung}
}

func TestRunsBehindAHungStartAreRefused(t *testing.T) {
	s := stalled()
	soon, later := bootclock.Now().Add(time.Hour), bootclock.Now().Add(2*time.Hour)
	s.handle(protocol.Request{Verb: protocol.VerbStart, Run: 2, Start: new(protocol.Start), Deadline: soon, Grace: time.Hour})
	s.handle(protocol.Request{Verb: protocol.VerbStart, Run: 3, Start: new(protocol.Start), Deadline: later})
	s.handle(protocol.Request{Verb: protocol.VerbStart, Run: 4, Start: new(protocol.Start), Deadline: later})
	require.Equal(t, soon, s.next())
	s.signalRuns(soon - 1)
	s.launchNext(soon - 1)
	require.Empty(t, s.outbox.Take())

	s.signalRuns(soon)
	require.Equal(t, []protocol.Report{{Run: 2, End: &protocol.End{Reason: protocol.ReasonDeadline}}}, s.outbox.Take())
	s.handle(protocol.Request{Verb: protocol.VerbStop, Run: 3})
	s.signalRuns(soon + 1)
	require.Equal(t, []protocol.Report{{Run: 3, End: &protocol.End{Reason: protocol.ReasonCancelled}}}, s.outbox.Take())
	require.Equal(t, later, s.next())
	require.Len(t, s.runs, 2, "the one that hangs, and one that can wait")
}

func TestStreamsHaveAMomentToEnd(t *testing.T) {
	s := stalled()
	r := &run{id: 2, start: new(protocol.Start), pid: 1 << 30, output: newOutput(), ended: true, listed: true, streams: 1}
	r.reportBy = bootclock.Now().Add(deathTimeout)
	s.runs[2] = r
	s.killOrphans(nil)
	require.True(t, r.clean)
	require.LessOrEqual(t, r.reportBy, bootclock.Now().Add(drainTimeout))
	s.reportEnds(r.reportBy - 1)
	require.Empty(t, s.outbox.Take())
	s.reportEnds(r.reportBy)
	require.Len(t, s.outbox.Take(), 1)
	require.NotContains(t, s.runs, uint64(2))
}

func TestEndOfAnUndyingGroupLeaderIsReported(t *testing.T) {
	s := stalled()
	r := &run{id: 2, start: new(protocol.Start), pid: 1 << 30, output: newOutput(), plan: plan{deadline: 100}}
	s.runs[2] = r
	s.signalRuns(100)
	require.True(t, r.plan.killed)
	died := bootclock.Instant(100).Add(deathTimeout)
	require.Equal(t, died, s.next())
	s.reportEnds(died - 1)
	require.Empty(t, s.outbox.Take())
	s.reportEnds(died)
	require.Equal(t, []protocol.Report{{Run: 2, End: &protocol.End{Reason: protocol.ReasonDeadline, Alive: true}}}, s.outbox.Take())
	s.reportEnds(died + 1)
	require.Empty(t, s.outbox.Take(), "once")
	require.Contains(t, s.runs, uint64(2), "its group leader is still to be reaped")
	require.Equal(t, bootclock.Never, s.next())
}

func TestOutboxRefusesLinesButNoEnds(t *testing.T) {
	o := newOutbox()
	line := []byte(strings.Repeat("x", 1000))
	accepted := 0
	for o.offer(1, "stdout", line, 0) {
		accepted++
	}
	require.InDelta(t, protocol.QueueBytes/1128, accepted, 1)
	o.Put(protocol.Report{Run: 1, End: new(protocol.End)})
	reports := o.Take()
	require.Len(t, reports, accepted+1)
	require.NotNil(t, reports[accepted].End, "after the lines of its run")
	require.False(t, o.offer(1, "stdout", line, 0), "what was taken is not yet sent")
	o.sent(reports)
	require.True(t, o.offer(1, "stdout", line, 0))
}
