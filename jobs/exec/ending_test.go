//go:build linux

package exec

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

// stubborn ignores SIGTERM, but says that it was told. It reads what nobody writes, so that it need not start anything
// before it can answer.
const stubborn = `exec 8<>"$LIFE.silence"; trap 'echo told >&9' TERM; echo up >&9; while :; do read -r nothing <&8; done`

// slack is how late a loaded machine may be. It is less than what the parts of the package wait for each other.
const slack = 4 * time.Second

func TestCancelledRunIsToldAndKilledAfterTheGrace(t *testing.T) {
	g, life := openGuard(t), newLifeline(t)
	timeout := errors.New("timeout of the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := shell(life, stubborn)
	c.KillGrace = 300 * time.Millisecond
	result := do(ctx, g, c, leaseOf(time.Minute))
	life.hear(t, "up")

	cancelled := time.Now()
	cancel(timeout)
	life.hear(t, "told")
	died := life.awaitEnd(t)
	require.GreaterOrEqual(t, died.Sub(cancelled), c.KillGrace)
	require.Less(t, died.Sub(cancelled), c.KillGrace+slack)

	failed := awaitExitError(t, result)
	require.Equal(t, ReasonCancelled, failed.Reason)
	require.Equal(t, syscall.SIGKILL, failed.Signal)
	require.ErrorIs(t, failed, timeout)
	require.NotErrorIs(t, failed, jobs.ErrLeaseEnding)
}

func TestCancelledRunThatObeysEndsAtOnce(t *testing.T) {
	g, life := openGuard(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, `trap 'exit 0' TERM; echo up >&9; while :; do sleep 0.02; done`)
	c.KillGrace = time.Minute
	result := do(ctx, g, c, leaseOf(time.Hour))
	life.hear(t, "up")
	cancel()
	failed := awaitExitError(t, result)
	require.Equal(t, ReasonCancelled, failed.Reason, "exit code 0 of a command that was told to stop is no success")
	require.Equal(t, 0, failed.Code)
	require.ErrorIs(t, failed, context.Canceled)
}

func TestStoppedProcessIsToldToo(t *testing.T) {
	g, life := openGuard(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, `trap 'echo told >&9; exit 0' TERM; echo up >&9; kill -STOP $$; while :; do sleep 0.02; done`)
	c.KillGrace = time.Minute
	result := do(ctx, g, c, leaseOf(time.Hour))
	life.hear(t, "up")
	cancel()
	life.hear(t, "told")
	require.Equal(t, ReasonCancelled, awaitExitError(t, result).Reason)
}

func TestGraceDoesNotOutlastTheLease(t *testing.T) {
	t.Parallel()
	g, life := openWarmGuard(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, stubborn)
	c.KillGrace = time.Hour
	lease := leaseOf(5 * time.Second)
	result := do(ctx, g, c, lease)
	life.hear(t, "up")
	cancel()
	life.hear(t, "told")
	died := life.awaitEnd(t)
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))
	require.Equal(t, ReasonCancelled, awaitExitError(t, result).Reason)
}

func TestLostLeaseLeavesNoGrace(t *testing.T) {
	g, life := openWarmGuard(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, stubborn)
	c.KillGrace = time.Hour
	lease := leaseOf(time.Hour)
	result := do(ctx, g, c, lease)
	life.hear(t, "up")
	lease.lose()
	cancel()
	life.awaitEnd(t)
	require.Equal(t, ReasonCancelled, awaitExitError(t, result).Reason)
}

func TestUnrenewedRunIsToldAndThenKilledAtTheDeadline(t *testing.T) {
	t.Parallel()
	g, life := openWarmGuard(t), newLifeline(t)
	const term = 16 * time.Second // a loaded machine needs a good part of an eighth to answer
	lease := leaseOf(term)
	c := shell(life, stubborn)
	c.KillGrace = time.Hour // whatever it says
	result := do(t.Context(), g, c, lease)
	life.hear(t, "up")

	told := life.hear(t, "told")
	require.WithinRange(t, told, lease.Deadline().Add(-term/8), lease.Deadline())
	died := life.awaitEnd(t)
	t.Logf("dead %s after the deadline", died.Sub(lease.Deadline()))
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))

	failed := awaitExitError(t, result)
	require.Equal(t, ReasonDeadline, failed.Reason)
	require.Equal(t, syscall.SIGKILL, failed.Signal)
	require.Equal(t, []error{jobs.ErrLeaseEnding}, failed.Unwrap(), "the context has not ended")
	require.ErrorContains(t, failed, "command was stopped: ended by SIGKILL: the lease was not renewed in time")
}

func TestRenewalsKeepARunAlive(t *testing.T) {
	t.Parallel()
	g, life := openWarmGuard(t), newLifeline(t)
	const term = 6 * time.Second
	lease := leaseOf(term)
	result := do(t.Context(), g, shell(life, stubborn), lease)
	life.hear(t, "up")
	first := lease.Deadline()

	renew := time.NewTicker(term / 10)
	defer renew.Stop()
	for time.Since(first) < 2*time.Second {
		<-renew.C
		lease.renew(term)
	}
	require.Empty(t, life.lines, "it was not told")
	life.requireAlive(t)

	life.hear(t, "told")
	died := life.awaitEnd(t)
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))
	require.Equal(t, ReasonDeadline, awaitExitError(t, result).Reason)
}

func TestRenewalBeforeTheHandlerListensIsNotMissed(t *testing.T) {
	t.Parallel()
	g := openWarmGuard(t)
	lease := &renewedEarly{fakeLease: leaseOf(4 * time.Second)}
	require.NoError(t, await(t, do(t.Context(), g, shell(nil, "sleep 5"), lease)))
}

// renewedEarly is renewed after its deadline was read first, and before anybody listens.
type renewedEarly struct {
	*fakeLease
	once bool
}

func (l *renewedEarly) OnRenewal(f func(time.Time)) (stop func()) {
	if !l.once {
		l.once = true
		l.fakeLease.renew(time.Minute)
	}
	return l.fakeLease.OnRenewal(f)
}

func TestSuccessIsKeptWhenTheContextEndsTooLate(t *testing.T) {
	g := openGuard(t)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := g.start(runUnder(leaseOf(time.Minute)), bootNow().add(time.Minute), time.Second, func(mark string) *start {
		return &start{Args: []string{"/bin/sh", "-c", "exit 0"}, Dir: "/", Mark: mark}
	})
	require.NoError(t, err)
	<-w.ended
	cancel()
	require.NoError(t, w.await(ctx, time.Second, w.run.Lease.Deadline()))
}
