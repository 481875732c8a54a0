//go:build linux

package exec

import (
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stalled is a guard process whose launcher is busy for ever.
func stalled() *watch {
	hung := &charge{id: 1, start: new(start), plan: plan{deadline: 50}}
	return &watch{outbox: newOutbox(), charges: map[uint64]*charge{1: hung}, starting: hung}
}

func TestRunsBehindAStartThatHangsAreRefusedInTime(t *testing.T) {
	w := stalled()
	soon, later := bootNow().add(time.Hour), bootNow().add(2*time.Hour)
	w.serve(request{Verb: verbStart, Run: 2, Start: new(start), Deadline: soon, Grace: time.Hour})
	w.serve(request{Verb: verbStart, Run: 3, Start: new(start), Deadline: later})
	w.serve(request{Verb: verbStart, Run: 4, Start: new(start), Deadline: later})
	require.Equal(t, soon, w.wake())
	w.act(soon - 1)
	w.launch(soon - 1)
	require.Empty(t, w.outbox.take())

	w.act(soon)
	require.Equal(t, []report{{Run: 2, End: &end{Reason: ReasonDeadline}}}, w.outbox.take())
	w.serve(request{Verb: verbStop, Run: 3})
	w.act(soon + 1)
	require.Equal(t, []report{{Run: 3, End: &end{Reason: ReasonCancelled}}}, w.outbox.take())
	require.Equal(t, later, w.wake())
	require.Len(t, w.charges, 2, "the one that hangs, and one that can wait")
}

func TestStreamsHaveAMomentToEndOnceNothingElseIsLeft(t *testing.T) {
	w := stalled()
	c := &charge{id: 2, start: new(start), pid: 1 << 30, output: newOutput(), ended: true, listed: true, streams: 1}
	c.giveUp = bootNow().add(deathBound)
	w.charges[2] = c
	w.judge(nil)
	require.True(t, c.clean)
	require.LessOrEqual(t, c.giveUp, bootNow().add(drainBound))
	w.report(c.giveUp - 1)
	require.Empty(t, w.outbox.take())
	w.report(c.giveUp)
	require.Len(t, w.outbox.take(), 1)
	require.NotContains(t, w.charges, uint64(2))
}

func TestKillReachesTheWholeGroupAtOnce(t *testing.T) {
	life := newLifeline(t)
	c := shell(life, `sleep 1000 & echo up >&9; wait`)
	leader := osexec.Command(c.Args[0], c.Args[1:]...)
	leader.Env = append(os.Environ(), "LIFE="+life.path)
	leader.SysProcAttr = commandAttr()
	require.NoError(t, leader.Start())
	life.hear(t, "up")
	slay(leader.Process.Pid)
	life.awaitEnd(t) // although the leader is not reaped
	require.Error(t, leader.Wait())
}

func TestEndIsReportedWhenALeaderDoesNotDie(t *testing.T) {
	w := stalled()
	c := &charge{id: 2, start: new(start), pid: 1 << 30, output: newOutput(), plan: plan{deadline: 100}}
	w.charges[2] = c
	w.act(100)
	require.True(t, c.plan.killed)
	died := instant(100).add(deathBound)
	require.Equal(t, died, w.wake())
	w.report(died - 1)
	require.Empty(t, w.outbox.take())
	w.report(died)
	require.Equal(t, []report{{Run: 2, End: &end{Reason: ReasonDeadline, Alive: true}}}, w.outbox.take())
	w.report(died + 1)
	require.Empty(t, w.outbox.take(), "once")
	require.Contains(t, w.charges, uint64(2), "its leader is still to be reaped")
	require.Equal(t, never, w.wake())
}

func TestOutboxRefusesLinesButNoEnds(t *testing.T) {
	o := newOutbox()
	line := []byte(strings.Repeat("x", 1000))
	accepted := 0
	for o.offer(1, "stdout", line, 0) {
		accepted++
	}
	require.InDelta(t, outboxBytes/1128, accepted, 1)
	o.put(report{Run: 1, End: new(end)})
	reports := o.take()
	require.Len(t, reports, accepted+1)
	require.NotNil(t, reports[accepted].End, "after the lines of its run")
	require.False(t, o.offer(1, "stdout", line, 0), "what was taken is not yet written")
	o.written(accepted * lineCost(1000))
	require.True(t, o.offer(1, "stdout", line, 0))
}

func TestBothWaysToListChildrenAgree(t *testing.T) {
	g, life := openGuard(t), newLifeline(t)
	result := do(t.Context(), g, shell(life, "echo up >&9; "+waiting), leaseOf(time.Minute))
	life.hear(t, "up")
	require.Contains(t, children(), guardPID(g))
	require.Contains(t, childrenByScan(), guardPID(g))
	require.False(t, slices.Contains(children(), 1))
	life.release(t)
	require.NoError(t, await(t, result))
}

func TestProcessesAreDatedByTheBootClock(t *testing.T) {
	g := openGuard(t)
	before := bootNow()
	require.NoError(t, await(t, do(t.Context(), g, shell(nil, "exit 0"), leaseOf(time.Minute))))
	_, started := stat(guardPID(g))
	require.GreaterOrEqual(t, started.add(startGrain), before)
	require.LessOrEqual(t, started, bootNow())
}
