package exec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRunIsToldAndKilledAsPlanned(t *testing.T) {
	const s = instant(time.Second)
	for _, c := range []struct {
		name       string
		plan       plan
		tell, kill instant
	}{
		{"a short grace is kept", plan{grace: time.Second, learnt: 100 * s, deadline: 116 * s}, 115 * s, 116 * s},
		{"a long one is an eighth of the extension", plan{grace: time.Hour, learnt: 100 * s, deadline: 116 * s}, 114 * s, 116 * s},
		{"none tells and kills at once", plan{learnt: 100 * s, deadline: 116 * s}, 116 * s, 116 * s},
		{"learnt late", plan{grace: time.Hour, learnt: 120 * s, deadline: 116 * s}, 116 * s, 116 * s},
		{"stopped", plan{grace: 5 * time.Second, learnt: 100 * s, deadline: 116 * s, stopped: 102 * s}, 102 * s, 107 * s},
		{"stopped right before the deadline", plan{grace: 5 * time.Second, learnt: 100 * s, deadline: 116 * s, stopped: 115 * s}, 115 * s, 116 * s},
		{"stopped after the deadline", plan{grace: 5 * time.Second, learnt: 100 * s, deadline: 116 * s, stopped: 117 * s}, 116 * s, 116 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.tell, c.plan.tellAt())
			require.Equal(t, c.kill, c.plan.killAt())

			p := c.plan
			require.Equal(t, c.tell, p.wake())
			tell, kill := p.due(c.tell - 1)
			require.False(t, tell || kill)
			tell, kill = p.due(c.tell)
			require.True(t, tell)
			require.Equal(t, c.tell == c.kill, kill)
			_, again := p.due(c.kill)
			require.Equal(t, !kill, again, "killed once")
			require.Equal(t, never, p.wake())
			require.Equal(t, c.plan.stopped != 0, p.reason == ReasonCancelled)
		})
	}
}

func TestExtensionMovesTheDeadlineForwardOnly(t *testing.T) {
	const s = instant(time.Second)
	p := plan{grace: time.Second, learnt: 100 * s, deadline: 116 * s}
	p.extend(121*s, 105*s)
	require.Equal(t, 121*s, p.killAt())
	p.extend(110*s, 106*s)
	require.Equal(t, 121*s, p.killAt())

	tell, _ := p.due(120 * s)
	require.True(t, tell)
	p.extend(136*s, 120*s)
	require.Equal(t, 135*s, p.wake(), "told again before the new deadline")
	require.Equal(t, ReasonDeadline, p.reason, "that it was told is not forgotten")

	p.due(136 * s)
	p.extend(150*s, 137*s)
	require.Equal(t, 136*s, p.killAt(), "it has been killed")
}

func TestStoppingAgainOnlyShortensTheGrace(t *testing.T) {
	const s = instant(time.Second)
	p := plan{grace: 5 * time.Second, learnt: 100 * s, deadline: 116 * s}
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
	require.Equal(t, ReasonDeadline, p.refusal(10))
	p.stop(0, 5)
	require.Equal(t, ReasonCancelled, p.refusal(6))
}

func TestDeadlineCrossesAsTheBootClock(t *testing.T) {
	before := bootNow()
	got := instantOf(time.Now().Add(time.Hour))
	require.GreaterOrEqual(t, got, before.add(time.Hour-time.Second))
	require.LessOrEqual(t, got, bootNow().add(time.Hour))
	require.Less(t, instantOf(time.Time{}), before, "a deadline that nobody set has passed")
	require.Less(t, instantOf(time.Now().Add(1<<62)), never)
}
