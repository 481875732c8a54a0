//go:build linux

package exec

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/exec/internal/proc"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// family starts a child in the same group, one in a session of its own, and one that has lost its
// parent besides.
const family = `sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' & ) ; `

func TestNothingOutlivesTheMainProcess(t *testing.T) {
	for name, script := range map[string]string{
		"success":      family + `echo up >&9; exit 0`,
		"daemon":       `(setsid setsid sh -c 'trap "" TERM HUP; echo up >&9; : >"$LIFE.go"; sleep 1000; sleep 1000' &)& ` + waiting,
		"nohup":        `nohup sleep 1000 >/dev/null 2>&1 & echo up >&9`,
		"hidden":       `echo up >&9; env -i setsid sleep 1000 & sleep 0.2`,
		"late starter": `setsid sh -c 'while :; do setsid sleep 1000 & sleep 0.01; done' & echo up >&9; sleep 0.1`,
	} {
		t.Run(name, func(t *testing.T) {
			s, life := openSupervisor(t), newLifeline(t)
			result := do(t.Context(), s, shell(life, script), leaseOf(time.Minute))
			life.await(t, "up")
			life.awaitEnd(t)
			require.NoError(t, await(t, result))
			awaitReaped(t, s)
		})
	}
}

func TestNothingOutlivesACancelledRun(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := do(ctx, s, shell(life, family+`echo up >&9; wait`), leaseOf(time.Minute))
	life.await(t, "up")
	cancel()
	life.awaitEnd(t)
	require.Equal(t, protocol.ReasonCancelled, awaitExitError(t, result).Reason)
	awaitReaped(t, s)
}

func TestHandlerReturnsAfterEverythingIsGone(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	require.NoError(t, await(t, do(t.Context(), s, shell(life, family+`echo up >&9`), leaseOf(time.Minute))))
	for _, pid := range proc.Processes() {
		require.NotEqual(t, s.conn.nonce+"/1", proc.TagOf(pid))
	}
	awaitReaped(t, s)
	life.awaitEnd(t)
}

func TestOneRunsEndSparesTheOrphansOfAnother(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	c := shell(life, `(setsid sleep 1000 &); (env -i setsid sleep 1000 &); `+waiting)
	result := do(t.Context(), s, c, leaseOf(time.Minute))
	awaitOrphans(t, s, 2)
	for range 10 {
		require.NoError(t, await(t, do(t.Context(), s, shell(nil, "setsid true &"), leaseOf(time.Minute))))
	}
	require.Equal(t, 2, orphans(t, s))
	life.release(t)
	require.NoError(t, await(t, result))
	life.awaitEnd(t)
}

func TestUntaggedOrphanDiesWithItsPossibleRuns(t *testing.T) {
	s, older, life, younger := openSupervisor(t), newLifeline(t), newLifeline(t), newLifeline(t)
	oldResult := do(t.Context(), s, shell(older, `echo up >&9; `+waiting), leaseOf(time.Minute))
	older.await(t, "up")

	result := do(t.Context(), s, shell(life, `(env -i setsid sleep 1000 &); `+waiting), leaseOf(time.Minute))
	awaitOrphans(t, s, 1)
	life.release(t)
	require.NoError(t, await(t, result))
	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "exit 0"), leaseOf(time.Minute))))
	require.Equal(t, 1, orphans(t, s), "it may be the older run's")

	youngResult := do(t.Context(), s, shell(younger, `echo up >&9; `+waiting), leaseOf(time.Minute))
	younger.await(t, "up")
	older.release(t)
	require.NoError(t, await(t, oldResult))
	life.awaitEnd(t) // it cannot be the younger one's
	younger.requireAlive(t)
	younger.release(t)
	require.NoError(t, await(t, youngResult))
}

func TestPipeHeldByOthersDelaysNoRun(t *testing.T) {
	s, older, life := openSupervisor(t), newLifeline(t), newLifeline(t)
	oldResult := do(t.Context(), s, shell(older, `echo up >&9; `+waiting), leaseOf(time.Minute))
	older.await(t, "up")
	// What holds the pipe shows no tag, and may be the older run's.
	result := do(t.Context(), s, shell(life, `(env -i setsid sleep 1000 &); `+waiting), leaseOf(time.Minute))
	awaitOrphans(t, s, 1)
	life.release(t)
	require.NoError(t, await(t, result))
	require.Equal(t, 1, orphans(t, s))
	older.release(t)
	require.NoError(t, await(t, oldResult))
}

func TestGroupDiesWithItsLeaderTaggedOrNot(t *testing.T) {
	s, older, life := openSupervisor(t), newLifeline(t), newLifeline(t)
	oldResult := do(t.Context(), s, shell(older, `echo up >&9; `+waiting), leaseOf(time.Minute))
	older.await(t, "up")
	result := do(t.Context(), s, shell(life, `(env -i sleep 1000 &); `+waiting), leaseOf(time.Minute))
	awaitOrphans(t, s, 1)
	life.release(t)
	life.awaitEnd(t)
	require.NoError(t, await(t, result))
	older.release(t)
	require.NoError(t, await(t, oldResult))
}

func TestBackgroundProcessDoesNotHoldTheRun(t *testing.T) {
	s := openSupervisor(t)
	failed := awaitExitError(t, do(t.Context(), s, shell(nil, `sleep 1000 & setsid sleep 1000 & echo said; exit 1`), leaseOf(time.Minute)))
	require.Equal(t, "said", failed.Output)
}
