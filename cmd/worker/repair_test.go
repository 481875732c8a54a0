package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/redistest"
)

func TestRepairBringsTheWatermarkBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.WithClock())
	s.contended("sync-orders")
	require.Equal(t, result{0, "nothing of sync-orders lies in the future, so nothing was changed\n", ""}, s.ask("repair", "sync-orders"))
	require.NotContains(t, s.ask("status").stdout, "watermark")

	s.server.SetClock(8 * time.Hour)
	ran := time.Now().Add(8 * time.Hour).Truncate(time.Second)
	g := s.claim("sync-orders", ran.UnixMilli())
	s.settle(g, "succeeded", fleet.Note{})
	require.Contains(t, s.ask("repair", "sync-orders").stderr, "the store's clock is 8h0m0s ahead of this machine's")
	s.server.SetClock(0)

	r := s.ask("status")
	require.Regexp(t, `its watermark lies (8 h|7 h 59 min) in the future, and no tick up to then runs: worker repair sync-orders`, r.stdout)
	var status struct {
		Jobs []struct {
			Job   string
			Ahead int64 `json:"watermark_ahead_ms"`
		}
	}
	s.json(&status, "status", "sync-orders")
	require.InDelta(t, (8 * time.Hour).Milliseconds(), status.Jobs[0].Ahead, 60_000)
	next := time.Now().Truncate(time.Hour).Add(2 * time.Hour).Format(time.RFC3339)
	require.Regexp(t, `Its time has not come: .* The job's watermark lies .* in the future, at .*worker repair sync-orders\.`, s.ask("why", "sync-orders", next).stdout)

	r = s.ask("repair", "sync-orders", "--by", "ops7")
	require.Equal(t, 0, r.code, r.stderr)
	require.Regexp(t, `^sync-orders is repaired: its watermark was \d{4}-.*, and is now \d{4}-.*; what ran or runs already of later ticks does not run again: 1 tick\n$`, r.stdout)
	var done struct {
		Changed           bool
		Before, Watermark time.Time
		Exceptions        int
	}
	s.json(&done, "repair", "sync-orders")
	require.False(t, done.Changed)
	require.WithinDuration(t, time.Now(), done.Watermark, time.Minute)
	require.Equal(t, 1, done.Exceptions)
	require.NotContains(t, s.ask("status").stdout, "watermark")
	require.Regexp(t, `The job's watermark lay in the future, at .*, until ops7 brought it back at `, s.ask("why", "sync-orders", next).stdout)
	past := time.Now().Truncate(time.Hour).Format(time.RFC3339)
	require.Contains(t, s.ask("why", "sync-orders", past).stdout, "Until ops7 brought it back at ")

	later := s.claim("sync-orders", time.Now().Add(time.Second).UnixMilli())
	require.Greater(t, later.Token, g.Token)
	_, err := claimAs(t.Context(), s.store, "sync-orders", ran.UnixMilli(), "r2")
	require.EqualError(t, err, "decided", "it ran by the wrong clock")
	record, err := s.store.Inspect(t.Context(), "sync-orders")
	require.NoError(t, err)
	require.Equal(t, ran.UnixMilli(), record.Mark)
}
