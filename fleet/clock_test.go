package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

func TestCommandsDoNothingWhileTheClockIsDistrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), new(memlease.Store)
		_, err := store.Sync(ctx, []protocol.Sync{{Name: "job", Watermark: 1}})
		require.NoError(t, err)
		f, err := fleet.New(store)
		require.NoError(t, err)
		refused := func() {
			t.Helper()
			_, err := f.Trigger(ctx, "job", fleet.TriggerOptions{By: "ops"})
			require.ErrorIs(t, err, fleet.ErrClock)
			_, err = f.Pause(ctx, "job", fleet.Act{By: "ops"})
			require.ErrorIs(t, err, fleet.ErrClock)
			_, err = f.Resume(ctx, "job", fleet.Act{By: "ops"})
			require.ErrorIs(t, err, fleet.ErrClock)
			require.ErrorContains(t, err, "the store's clock is 8h0m0s ahead of this machine's")
		}
		announce := func(clock string) {
			t.Helper()
			r := heartbeat.Replica{ID: "r", Clock: clock, Life: 15 * time.Second}
			require.NoError(t, store.SendHeartbeat(ctx, "r", r.Encode(), r.Life))
		}
		announce(heartbeat.ClockTrusted)
		store.Step(8 * time.Hour)
		refused()
		announce(heartbeat.ClockStepped)
		refused()
		record, err := store.Inspect(ctx, "job")
		require.NoError(t, err)
		require.Equal(t, int64(1), record.Watermark)
		require.Empty(t, record.Open)

		announce(heartbeat.ClockTrusted)
		_, err = f.Trigger(ctx, "job", fleet.TriggerOptions{By: "ops"})
		require.NoError(t, err, "a live replica vouches")
		store.Step(-8 * time.Hour)
		_, err = f.Pause(ctx, "job", fleet.Act{By: "ops"})
		require.NoError(t, err, "the clocks agree")
	})
}
