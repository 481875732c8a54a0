package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Repair implements [protocol.Store]. Ticks that were skipped by the wrong clock come due again.
func (a *audit) Repair(ctx context.Context, q protocol.Repair) (protocol.Repaired, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, err := a.Store.Repair(ctx, q)
	j := a.job(q.Name)
	for i := range j.passes {
		if p := &j.passes[i]; r.Changed && p.to > r.Watermark {
			p.from, p.to = min(p.from, r.Watermark), r.Watermark
		}
	}
	return r, err
}

// after returns the runs of a job that began later than that.
func (f *fleet) after(job string, since time.Duration) (list []attempt) {
	for _, r := range f.runs.of(job) {
		if r.start.After(epoch.Add(since)) {
			list = append(list, r)
		}
	}
	return list
}

// TestRepairedJobRunsItsNextTick has the clock be 8 h ahead for so long that the fleet accepts it,
// and then be right: the job stands still until somebody repairs it. What ran by the wrong clock
// does not run again.
func TestRepairedJobRunsItsNextTick(t *testing.T) {
	const jump = 8 * hour
	inFleet(t, func(f *fleet) {
		f.job("job", "@every "+(hour/6).String(), takes(0))
		f.startMany(3)
		f.sleepTo(hour / 4)
		f.store.step(jump)
		f.sleepTo(hour * 3 / 4)
		f.store.step(-jump)
		f.sleepTo(hour * 13 / 12)
		before := f.runs.of("job")
		require.Equal(t, epoch.Add(jump+hour*2/3), before[len(before)-1].Tick, "the wrong clock was accepted")
		require.Empty(t, f.after("job", hour*3/4), "the job stands still")

		people, err := tools.New(f.store)
		require.NoError(t, err)
		r, err := people.Repair(t.Context(), "job", tools.Act{By: "ops1"})
		require.NoError(t, err)
		require.Equal(t, tools.Repaired{
			Job: "job", Changed: true, Before: epoch.Add(jump + hour*2/3), Watermark: epoch.Add(hour * 13 / 12), Exceptions: len(before) - 1,
		}, r)
		r, err = people.Repair(t.Context(), "job", tools.Act{By: "ops2"})
		require.NoError(t, err)
		require.False(t, r.Changed)

		f.sleepTo(hour*7/6 + 5*time.Second) // at most a heartbeat late
		after := f.after("job", hour*13/12)
		require.Len(t, after, 1)
		require.Equal(t, epoch.Add(hour*7/6), after[0].Tick)
		require.Greater(t, after[0].Token, before[len(before)-1].Token)

		f.sleepTo(10 * hour)
		ran := map[time.Time]int{}
		for _, r := range f.runs.of("job") {
			ran[r.Tick]++
		}
		for tick := epoch.Add(hour * 7 / 6); tick.Before(epoch.Add(10 * hour)); tick = tick.Add(hour / 6) {
			require.Equal(t, 1, ran[tick], "%s", tick)
		}
		facts, err := people.Facts(t.Context(), "job")
		require.NoError(t, err)
		require.Len(t, facts, 1)
		require.Equal(t, wire.FactRepaired, facts[0].Kind)
		require.Equal(t, "ops1", facts[0].By)
	})
}
