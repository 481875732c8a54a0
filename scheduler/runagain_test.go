package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestTickRunsAgainAsATickOfItsOwn(t *testing.T) {
	inFleet(t, func(f *fleet) {
		var mu sync.Mutex
		var shown []jobs.Run
		failed := false
		f.job("job", "@every 1h", func(ctx context.Context, run jobs.Run) error {
			mu.Lock()
			defer mu.Unlock()
			if shown = append(shown, run); !run.Again.IsZero() && !failed {
				failed = true
				return errors.New("once more")
			}
			return nil
		}, retries(2, time.Second), jobs.WithRate(jobs.Rate{Count: 1, Per: time.Hour}, 1))
		f.startMany(3)
		f.sleepTo(time.Hour + 10*time.Second + 1500*time.Microsecond)
		people, err := tools.New(f.store)
		require.NoError(f.t, err)
		old := epoch.Add(time.Hour)
		for _, refused := range []time.Time{epoch.Add(2 * time.Hour), epoch.Add(time.Minute)} {
			_, err = people.Trigger(f.t.Context(), "job", tools.TriggerOptions{By: "ops", Again: refused})
			require.ErrorIs(f.t, err, tools.ErrNotOver)
		}
		answer, err := people.Trigger(f.t.Context(), "job", tools.TriggerOptions{By: "ops", Again: old})
		require.NoError(f.t, err)
		asked := answer.Tick
		require.True(f.t, asked.After(epoch.Add(time.Hour+9*time.Second)))
		f.sleepTo(time.Hour + time.Minute)

		require.Len(f.t, shown, 3)
		for i, run := range shown[1:] {
			require.Equal(f.t, old, run.Tick)
			require.Equal(f.t, asked, run.Again)
			require.Equal(f.t, answer.ID, run.TickID())
			require.Equal(f.t, i+1, run.Attempt)
			require.NotEqual(f.t, shown[0].TickID(), run.TickID())
		}
		list, err := people.History(f.t.Context(), "job", 0)
		require.NoError(f.t, err)
		require.Len(f.t, list, 2)
		require.Equal(f.t, []any{asked, old, wire.Succeeded, 2}, []any{list[0].Scheduled, list[0].Again, list[0].Outcome, list[0].Attempts})
		require.Equal(f.t, []any{old, []time.Time{asked}, wire.Succeeded}, []any{list[1].Scheduled, list[1].RunAgain, list[1].Outcome})
		why, err := people.Why(f.t.Context(), "job", nil, old)
		require.NoError(f.t, err)
		require.Contains(f.t, fmt.Sprint(why.Facts[0]), "ops")
		require.Equal(f.t, asked, why.Facts[0].Tick)
	})
}
