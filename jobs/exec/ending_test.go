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
	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// stubborn ignores SIGTERM, but says that the signal came. It reads what nobody writes, so that it
// need not start anything before it can answer.
const stubborn = `exec 8<>"$LIFE.silence"; trap 'echo terminated >&9' TERM; echo up >&9; while :; do read -r nothing <&8; done`

// slack is how late a loaded machine may be. It is less than what the parts of the package wait for
// each other.
const slack = 4 * time.Second

func TestCancelledRunIsKilledAfterItsGrace(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	timeout := errors.New("timeout of the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := shell(life, stubborn)
	c.KillGrace = 300 * time.Millisecond
	result := do(ctx, s, c, leaseOf(time.Minute))
	life.await(t, "up")

	cancelled := time.Now()
	cancel(timeout)
	life.await(t, "terminated")
	died := life.awaitEnd(t)
	require.GreaterOrEqual(t, died.Sub(cancelled), c.KillGrace)
	require.Less(t, died.Sub(cancelled), c.KillGrace+slack)

	failed := awaitExitError(t, result)
	require.Equal(t, protocol.ReasonCancelled, failed.Reason)
	require.Equal(t, syscall.SIGKILL, failed.Signal)
	require.ErrorIs(t, failed, timeout)
	require.NotErrorIs(t, failed, jobs.ErrLeaseEnding)
}

func TestCancelledRunThatObeysEndsAtOnce(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, `trap 'exit 0' TERM; echo up >&9; while :; do sleep 0.02; done`)
	c.KillGrace = time.Minute
	result := do(ctx, s, c, leaseOf(time.Hour))
	life.await(t, "up")
	cancel()
	failed := awaitExitError(t, result)
	require.Equal(t, protocol.ReasonCancelled, failed.Reason, "exit code 0 of a command that got SIGTERM is no success")
	require.Equal(t, 0, failed.Code)
	require.ErrorIs(t, failed, context.Canceled)
}

func TestStoppedProcessIsNotifiedToo(t *testing.T) {
	s, life := openSupervisor(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, `trap 'echo terminated >&9; exit 0' TERM; echo up >&9; kill -STOP $$; while :; do sleep 0.02; done`)
	c.KillGrace = time.Minute
	result := do(ctx, s, c, leaseOf(time.Hour))
	life.await(t, "up")
	cancel()
	life.await(t, "terminated")
	require.Equal(t, protocol.ReasonCancelled, awaitExitError(t, result).Reason)
}

func TestGraceDoesNotOutlastTheLease(t *testing.T) {
	t.Parallel()
	s, life := openWarmSupervisor(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, stubborn)
	c.KillGrace = time.Hour
	lease := leaseOf(5 * time.Second)
	result := do(ctx, s, c, lease)
	life.await(t, "up")
	cancel()
	life.await(t, "terminated")
	died := life.awaitEnd(t)
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))
	require.Equal(t, protocol.ReasonCancelled, awaitExitError(t, result).Reason)
}

func TestLostLeaseLeavesNoGrace(t *testing.T) {
	s, life := openWarmSupervisor(t), newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := shell(life, stubborn)
	c.KillGrace = time.Hour
	lease := leaseOf(time.Hour)
	result := do(ctx, s, c, lease)
	life.await(t, "up")
	lease.lose()
	cancel()
	life.awaitEnd(t)
	require.Equal(t, protocol.ReasonCancelled, awaitExitError(t, result).Reason)
}

func TestUnrenewedRunIsKilledAtItsDeadline(t *testing.T) {
	t.Parallel()
	s, life := openWarmSupervisor(t), newLifeline(t)
	const term = 16 * time.Second // a loaded machine needs a good part of an eighth to answer
	lease := leaseOf(term)
	c := shell(life, stubborn)
	c.KillGrace = time.Hour // whatever it says
	result := do(t.Context(), s, c, lease)
	life.await(t, "up")

	terminated := life.await(t, "terminated")
	require.WithinRange(t, terminated, lease.Deadline().Add(-term/8), lease.Deadline())
	died := life.awaitEnd(t)
	t.Logf("dead %s after the deadline", died.Sub(lease.Deadline()))
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))

	failed := awaitExitError(t, result)
	require.Equal(t, protocol.ReasonDeadline, failed.Reason)
	require.Equal(t, syscall.SIGKILL, failed.Signal)
	require.Equal(t, []error{jobs.ErrLeaseEnding}, failed.Unwrap(), "the context has not ended")
	require.ErrorContains(t, failed, "command was stopped: ended by SIGKILL: the lease was not renewed in time")
}

func TestRenewalsKeepARunAlive(t *testing.T) {
	t.Parallel()
	s, life := openWarmSupervisor(t), newLifeline(t)
	const term = 6 * time.Second
	lease := leaseOf(term)
	result := do(t.Context(), s, shell(life, stubborn), lease)
	life.await(t, "up")
	first := lease.Deadline()

	renew := time.NewTicker(term / 10)
	defer renew.Stop()
	for time.Since(first) < 2*time.Second {
		<-renew.C
		lease.renew(term)
	}
	require.Empty(t, life.lines, "it got no SIGTERM")
	life.requireAlive(t)

	life.await(t, "terminated")
	died := life.awaitEnd(t)
	require.WithinRange(t, died, lease.Deadline(), lease.Deadline().Add(slack))
	require.Equal(t, protocol.ReasonDeadline, awaitExitError(t, result).Reason)
}

func TestRenewalBeforeTheHandlerListensIsNotMissed(t *testing.T) {
	t.Parallel()
	s := openWarmSupervisor(t)
	lease := &renewedEarly{fakeLease: leaseOf(4 * time.Second)}
	require.NoError(t, await(t, do(t.Context(), s, shell(nil, "sleep 5"), lease)))
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

func TestSuccessIsKeptWhenTheContextEndsLater(t *testing.T) {
	s := openSupervisor(t)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.start(runUnder(leaseOf(time.Minute)), bootclock.Now().Add(time.Minute), time.Second, func(tag string) *protocol.Start {
		return &protocol.Start{Args: []string{"/bin/sh", "-c", "exit 0"}, Dir: "/", Tag: tag}
	})
	require.NoError(t, err)
	<-w.ended
	cancel()
	require.NoError(t, w.await(ctx, time.Second, w.run.Lease.Deadline()))
}
