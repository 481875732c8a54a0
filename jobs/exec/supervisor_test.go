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

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

func TestLostSupervisorFailsItsRunsAndIsReplaced(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	result := do(t.Context(), s, shell(life, `trap '' TERM HUP; env -i sleep 1000 & `+family+`sleep 0.2; echo up >&9; wait`), leaseOf(time.Minute))
	life.await(t, "up")
	first := supervisorPID(s)

	killed := time.Now()
	require.NoError(t, unix.Kill(first, unix.SIGKILL))
	require.Less(t, life.awaitEnd(t).Sub(killed), slack)
	failed := awaitExitError(t, result)
	require.Equal(t, protocol.ReasonSupervisorLost, failed.Reason)
	require.ErrorContains(t, failed, "ended unexpectedly: signal: killed")

	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute))))
	require.NotEqual(t, first, supervisorPID(s))
}

func TestWorkerKeepsDeadlinesOfAFrozenSupervisor(t *testing.T) {
	t.Parallel() // it has to reach reportTimeout
	s, life := openWarmSupervisor(t), newLifeline(t)
	lease := leaseOf(5 * time.Second)
	result := do(t.Context(), s, shell(life, `trap '' TERM; echo up >&9; sleep 1000; sleep 1000`), lease)
	life.await(t, "up")
	require.Eventually(t, func() bool { return knowsGroupLeader(s, 2) }, bound, time.Millisecond)
	first := supervisorPID(s)
	require.NoError(t, unix.Kill(first, unix.SIGSTOP))

	died := life.awaitEnd(t)
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))
	failed := awaitExitError(t, result)
	require.Equal(t, protocol.ReasonSupervisorLost, failed.Reason)
	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute))))
	require.NotEqual(t, first, supervisorPID(s))
}

func TestSupervisorSurvivesAShortFreeze(t *testing.T) {
	t.Parallel()
	s, life := openWarmSupervisor(t), newLifeline(t)
	lease := leaseOf(6 * time.Second)
	first := lease.Deadline()
	result := do(t.Context(), s, shell(life, `echo up >&9; sleep 1000`), lease)
	life.await(t, "up")
	pid := supervisorPID(s)
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	for range 100_000 { // more than the socket holds
		lease.renew(time.Minute)
	}
	s.conn.outbox.Change(func(waiting []protocol.Request) []protocol.Request {
		require.LessOrEqual(t, len(waiting), 1, "a newer extension takes the place of an older one")
		return waiting
	})
	require.NoError(t, unix.Kill(pid, unix.SIGCONT))

	time.Sleep(time.Until(first.Add(slack / 2))) // the deadline that must not be kept has no event to wait for
	life.requireAlive(t)
	require.Equal(t, pid, supervisorPID(s))
	require.NoError(t, s.Close())
	require.ErrorIs(t, awaitExitError(t, result), errClosed)
}

func TestCloseKillsWhatStillRuns(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	result := do(t.Context(), s, shell(life, family+`echo up >&9; wait`), leaseOf(time.Minute))
	life.await(t, "up")
	require.NoError(t, s.Close())
	life.awaitEnd(t)
	failed := awaitExitError(t, result)
	require.Equal(t, protocol.ReasonSupervisorLost, failed.Reason)
	require.ErrorIs(t, failed, errClosed)

	failed = awaitExitError(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute)))
	require.Equal(t, protocol.ReasonNotStarted, failed.Reason)
	require.ErrorIs(t, failed, errClosed)
	require.NoError(t, s.Close(), "again")
}

func TestProcessThatIsNoSupervisorFailsTheRun(t *testing.T) {
	s := NewSupervisor([]string{"bystander"})
	defer func() { _ = s.Close() }()
	failed := awaitExitError(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute)))
	require.Contains(t, []string{protocol.ReasonSupervisorLost, protocol.ReasonNotStarted}, failed.Reason)
}

func TestSupervisorMainRefusesToRunByHand(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	output, err := osexec.Command(program, "supervisor").CombinedOutput()
	require.EqualError(t, err, "exit status 1")
	require.Contains(t, string(output), "only a worker can start this command")
}

func TestManyRunsAtOnceLeaveNothingBehind(t *testing.T) {
	var logged logBuffer
	s := openSupervisor(t, WithLogger(logged.logger()))
	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute))))
	before := descriptors(t, supervisorPID(s))
	pid := supervisorPID(s)

	const runs = 200
	began := time.Now()
	var all sync.WaitGroup
	errs := make([]error, runs)
	for i := range runs {
		all.Go(func() {
			script := fmt.Sprintf("echo line %d; setsid sleep 1000 & exit %d", i, i%2)
			errs[i] = New(s, shell(nil, script))(t.Context(), runUnder(leaseOf(time.Minute)))
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
	require.Equal(t, pid, supervisorPID(s), "one process for all of them")
	require.Empty(t, childrenOf(t, pid))
	require.Eventually(t, func() bool { return descriptors(t, pid) <= before }, bound, time.Millisecond)
}

// knowsGroupLeader reports whether the worker knows the process of a run.
func knowsGroupLeader(s *Supervisor, run uint64) bool {
	s.conn.mu.Lock()
	w := s.conn.runs[run]
	s.conn.mu.Unlock()
	return w != nil && w.groupLeader() != 0
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	return len(entries)
}

func BenchmarkInstantRun(b *testing.B) {
	s := NewSupervisor([]string{"supervisor"})
	defer func() { require.NoError(b, s.Close()) }()
	handler := New(s, Command{Args: []string{"/bin/true"}})
	run := runUnder(leaseOf(time.Hour))
	for b.Loop() {
		require.NoError(b, handler(b.Context(), run))
	}
}
