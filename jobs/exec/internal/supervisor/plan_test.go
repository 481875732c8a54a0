package supervisor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

func TestSignalsComeWhenTheyAreDue(t *testing.T) {
	const s = bootclock.Instant(time.Second)
	for _, c := range []struct {
		name       string
		plan       plan
		term, kill bootclock.Instant
	}{
		{"a short grace is kept", plan{grace: time.Second, extended: 100 * s, deadline: 116 * s}, 115 * s, 116 * s},
		{"a long one is an eighth of the extension", plan{grace: time.Hour, extended: 100 * s, deadline: 116 * s}, 114 * s, 116 * s},
		{"none sends both at once", plan{extended: 100 * s, deadline: 116 * s}, 116 * s, 116 * s},
		{"extended late", plan{grace: time.Hour, extended: 120 * s, deadline: 116 * s}, 116 * s, 116 * s},
		{"stopped", plan{grace: 5 * time.Second, extended: 100 * s, deadline: 116 * s, stopped: 102 * s}, 102 * s, 107 * s},
		{"stopped right before the deadline", plan{grace: 5 * time.Second, extended: 100 * s, deadline: 116 * s, stopped: 115 * s}, 115 * s, 116 * s},
		{"stopped after the deadline", plan{grace: 5 * time.Second, extended: 100 * s, deadline: 116 * s, stopped: 117 * s}, 116 * s, 116 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.term, c.plan.termAt())
			require.Equal(t, c.kill, c.plan.killAt())

			p := c.plan
			require.Equal(t, c.term, p.next())
			term, kill := p.due(c.term - 1)
			require.False(t, term || kill)
			term, kill = p.due(c.term)
			require.True(t, term)
			require.Equal(t, c.term == c.kill, kill)
			_, again := p.due(c.kill)
			require.Equal(t, !kill, again, "killed once")
			require.Equal(t, bootclock.Never, p.next())
			require.Equal(t, c.plan.stopped != 0, p.reason == protocol.ReasonCancelled)
		})
	}
}

func TestExtensionMovesTheDeadlineForwardOnly(t *testing.T) {
	const s = bootclock.Instant(time.Second)
	p := plan{grace: time.Second, extended: 100 * s, deadline: 116 * s}
	p.extend(121*s, 105*s)
	require.Equal(t, 121*s, p.killAt())
	p.extend(110*s, 106*s)
	require.Equal(t, 121*s, p.killAt())

	term, _ := p.due(120 * s)
	require.True(t, term)
	p.extend(136*s, 120*s)
	require.Equal(t, 135*s, p.next(), "another SIGTERM before the new deadline")
	require.Equal(t, protocol.ReasonDeadline, p.reason, "the first SIGTERM is not forgotten")

	p.due(136 * s)
	p.extend(150*s, 137*s)
	require.Equal(t, 136*s, p.killAt(), "it has been killed")
}

func TestStoppingAgainOnlyShortensTheGrace(t *testing.T) {
	const s = bootclock.Instant(time.Second)
	p := plan{grace: 5 * time.Second, extended: 100 * s, deadline: 116 * s}
	p.stop(time.Minute, 102*s)
	require.Equal(t, 107*s, p.killAt())
	p.stop(time.Second, 103*s)
	require.Equal(t, 103*s, p.killAt())
	p.extend(200*s, 103*s)
	require.Equal(t, 103*s, p.killAt(), "a renewal does not save it")
}

func TestOverdueOrStoppedRunIsNotStarted(t *testing.T) {
	p := plan{deadline: 10}
	require.Empty(t, p.refusal(9))
	require.Equal(t, protocol.ReasonDeadline, p.refusal(10))
	p.stop(0, 5)
	require.Equal(t, protocol.ReasonCancelled, p.refusal(6))
}

func TestDeadlineCrossesAsTheBootClock(t *testing.T) {
	before := bootclock.Now()
	got := bootclock.Of(time.Now().Add(time.Hour))
	require.GreaterOrEqual(t, got, before.Add(time.Hour-time.Second))
	require.LessOrEqual(t, got, bootclock.Now().Add(time.Hour))
	require.Less(t, bootclock.Of(time.Time{}), before, "a deadline that nobody set has passed")
	require.Less(t, bootclock.Of(time.Now().Add(1<<62)), bootclock.Never)
}
