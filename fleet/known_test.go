package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// late answers calls of Sync only after a while, as a store far away does.
type late struct{ memlease.Store }

func (s *late) Sync(ctx context.Context, y []protocol.Sync) ([]protocol.Record, error) {
	time.Sleep(80 * time.Millisecond)
	return s.Store.Sync(ctx, y)
}

// A trigger, and a pause, that come right after the start or an update of a job's only replica.
func TestEventsRightAfterTheStartAreNotLost(t *testing.T) {
	for i := range 100 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(late)
				job := func(name string) *jobs.Job {
					j, err := jobs.New(name, "@every 24h", func(context.Context, jobs.Run) error { return nil })
					require.NoError(t, err)
					return j
				}
				registry := new(jobs.Registry)
				require.NoError(t, registry.Add(job("first")))
				s, err := scheduler.New(store, registry)
				require.NoError(t, err)
				f, err := fleet.New(store)
				require.NoError(t, err)

				require.NoError(t, s.Start())
				_, err = f.Trigger(t.Context(), "first", fleet.TriggerOptions{By: "test"})
				require.NoError(t, err)

				require.NoError(t, registry.Add(job("second")))
				s.Update(registry)
				_, err = f.Pause(t.Context(), "second", fleet.Act{By: "test"})
				require.NoError(t, err)
				require.NoError(t, s.Shutdown(t.Context()))
			})
		})
	}
}

func TestAJobThatNobodyHasIsUnknownSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := fleet.New(new(memlease.Store))
		require.NoError(t, err)
		began := time.Now()
		_, err = f.Trigger(t.Context(), "nobody", fleet.TriggerOptions{By: "test"})
		require.ErrorIs(t, err, protocol.ErrUnknown)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestAWindowWithoutAKeyIsRefused(t *testing.T) {
	f, err := fleet.New(new(memlease.Store))
	require.NoError(t, err)
	_, err = f.Trigger(t.Context(), "job", fleet.TriggerOptions{By: "test", Window: time.Minute})
	require.EqualError(t, err, `fleet: trigger window: "1m0s" must be left out without a key`)
}
