//go:build linux

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestLostGuardFailsItsRunsAndIsReplaced(t *testing.T) {
	g, life := openGuard(t), newLifeline(t)
	result := do(t.Context(), g, shell(life, `trap '' TERM HUP; env -i sleep 1000 & `+family+`sleep 0.2; echo up >&9; wait`), leaseOf(time.Minute))
	life.hear(t, "up")
	first := guardPID(g)

	killed := time.Now()
	require.NoError(t, unix.Kill(first, unix.SIGKILL))
	require.Less(t, life.awaitEnd(t).Sub(killed), slack)
	failed := awaitExitError(t, result)
	require.Equal(t, ReasonGuardLost, failed.Reason)
	require.ErrorContains(t, failed, "ended unexpectedly: signal: killed")

	require.NoError(t, await(t, do(t.Context(), g, shell(nil, "exit 0"), leaseOf(time.Minute))))
	require.NotEqual(t, first, guardPID(g))
}

func TestWorkerKeepsTheDeadlineOfAFrozenGuard(t *testing.T) {
	t.Parallel() // it has to lose its patience
	g, life := openWarmGuard(t), newLifeline(t)
	lease := leaseOf(5 * time.Second)
	result := do(t.Context(), g, shell(life, `trap '' TERM; echo up >&9; sleep 1000; sleep 1000`), lease)
	life.hear(t, "up")
	require.Eventually(t, func() bool { return knowsLeader(g, 2) }, bound, time.Millisecond)
	first := guardPID(g)
	require.NoError(t, unix.Kill(first, unix.SIGSTOP))

	died := life.awaitEnd(t)
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))
	failed := awaitExitError(t, result)
	require.Equal(t, ReasonGuardLost, failed.Reason)
	require.NoError(t, await(t, do(t.Context(), g, shell(nil, "exit 0"), leaseOf(time.Minute))))
	require.NotEqual(t, first, guardPID(g))
}

func TestGuardThatWasFrozenForAMomentGoesOn(t *testing.T) {
	t.Parallel()
	g, life := openWarmGuard(t), newLifeline(t)
	lease := leaseOf(6 * time.Second)
	first := lease.Deadline()
	result := do(t.Context(), g, shell(life, `echo up >&9; sleep 1000`), lease)
	life.hear(t, "up")
	pid := guardPID(g)
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	for range 100_000 { // more than the socket holds
		lease.renew(time.Minute)
	}
	g.link.mu.Lock()
	require.LessOrEqual(t, len(g.link.extensions)+len(g.link.requests), 1, "a newer extension takes the place of an older one")
	g.link.mu.Unlock()
	require.NoError(t, unix.Kill(pid, unix.SIGCONT))

	time.Sleep(time.Until(first.Add(slack / 2))) // the deadline that must not be kept has no event to wait for
	life.requireAlive(t)
	require.Equal(t, pid, guardPID(g))
	require.NoError(t, g.Close())
	require.ErrorIs(t, awaitExitError(t, result), ErrClosed)
}

func TestCloseKillsWhatStillRuns(t *testing.T) {
	g, life := openGuard(t), newLifeline(t)
	result := do(t.Context(), g, shell(life, family+`echo up >&9; wait`), leaseOf(time.Minute))
	life.hear(t, "up")
	require.NoError(t, g.Close())
	life.awaitEnd(t)
	failed := awaitExitError(t, result)
	require.Equal(t, ReasonGuardLost, failed.Reason)
	require.ErrorIs(t, failed, ErrClosed)

	failed = awaitExitError(t, do(t.Context(), g, shell(nil, "exit 0"), leaseOf(time.Minute)))
	require.Equal(t, ReasonNotStarted, failed.Reason)
	require.ErrorIs(t, failed, ErrClosed)
	require.NoError(t, g.Close(), "again")
}

func TestGuardThatDoesNotBecomeOneFailsTheRun(t *testing.T) {
	g := NewGuard([]string{"bystander"})
	defer func() { _ = g.Close() }()
	failed := awaitExitError(t, do(t.Context(), g, shell(nil, "exit 0"), leaseOf(time.Minute)))
	require.Contains(t, []Reason{ReasonGuardLost, ReasonNotStarted}, failed.Reason)
}

func TestGuardMainIsOfNoUseByHand(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	output, err := osexec.Command(program, "guard").CombinedOutput()
	require.EqualError(t, err, "exit status 1")
	require.Contains(t, string(output), "a worker starts this command")
}

func TestManyRunsAtOnceLeaveNothingBehind(t *testing.T) {
	var logged logBuffer
	g := openGuard(t, WithLogger(logged.logger()))
	require.NoError(t, await(t, do(t.Context(), g, shell(nil, "exit 0"), leaseOf(time.Minute))))
	before := descriptors(t, guardPID(g))
	pid := guardPID(g)

	const runs = 200
	began := time.Now()
	var all sync.WaitGroup
	errs := make([]error, runs)
	for i := range runs {
		all.Go(func() {
			script := fmt.Sprintf("echo line %d; setsid sleep 1000 & exit %d", i, i%2)
			errs[i] = New(g, shell(nil, script))(t.Context(), runUnder(leaseOf(time.Minute)))
		})
	}
	all.Wait()
	t.Logf("%d runs in %s", runs, time.Since(began))

	for i, err := range errs {
		if i%2 == 0 {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, fmt.Sprintf("command failed: exit code 1; last output:\nline %d", i))
	}
	require.Len(t, logged.lines(), runs)
	require.Equal(t, pid, guardPID(g), "one process for all of them")
	require.Empty(t, childrenOf(t, pid))
	require.Eventually(t, func() bool { return descriptors(t, pid) <= before }, bound, time.Millisecond)
}

// knowsLeader reports whether the worker has learnt the process of a run.
func knowsLeader(g *Guard, run uint64) bool {
	g.link.mu.Lock()
	w := g.link.wards[run]
	g.link.mu.Unlock()
	return w != nil && w.leader() != 0
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	return len(entries)
}

func BenchmarkInstantRun(b *testing.B) {
	g := NewGuard([]string{"guard"})
	defer func() { require.NoError(b, g.Close()) }()
	handler := New(g, Command{Args: []string{"/bin/true"}})
	run := runUnder(leaseOf(time.Hour))
	for b.Loop() {
		require.NoError(b, handler(b.Context(), run))
	}
}
