package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/wire"
)

func TestRepairBringsTheWatermarkBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.WithClock())
	s.contended("sync-orders")
	require.Equal(t, workertest.Result{Stdout: "nothing of sync-orders lies in the future, so nothing was changed\n"}, s.ask("repair", "sync-orders"))
	require.NotContains(t, s.ask("status").Stdout, "watermark")

	s.server.SetClock(8 * time.Hour)
	ran := time.Now().Add(8 * time.Hour).Truncate(time.Second)
	g := s.claim("sync-orders", ran.UnixMilli())
	s.settle(g, "succeeded", wire.Note{})
	require.Contains(t, s.ask("repair", "sync-orders").Stderr, "no live replica trusts it, so nothing was changed")
	s.server.SetClock(0)

	r := s.ask("status")
	require.Regexp(t, `its watermark lies (8 h|7 h 59 min) in the future, and no tick runs until then: worker repair sync-orders`, r.Stdout)
	var status struct {
		Jobs []struct {
			Job   string
			Ahead int64 `json:"watermark_ahead_ms"`
		}
	}
	s.json(&status, "status", "sync-orders")
	require.InDelta(t, (8 * time.Hour).Milliseconds(), status.Jobs[0].Ahead, 60_000)
	next := time.Now().Truncate(time.Hour).Add(2 * time.Hour).Format(time.RFC3339)
	require.Regexp(t, `Its time has not come: .* The job's watermark lies .* in the future, at .*worker repair sync-orders\.`, s.ask("why", "sync-orders", next).Stdout)

	r = s.ask("repair", "sync-orders", "--by", "ops7")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Regexp(t, `^sync-orders is repaired: its watermark was \d{4}-.*, and is now \d{4}-.*; later ticks that already ran or run do not run again: 1 tick\n$`, r.Stdout)
	var done struct {
		Changed           bool
		Before, Watermark time.Time
		Exceptions        int
	}
	s.json(&done, "repair", "sync-orders")
	require.False(t, done.Changed)
	require.WithinDuration(t, time.Now(), done.Watermark, time.Minute)
	require.Equal(t, 1, done.Exceptions)
	require.NotContains(t, s.ask("status").Stdout, "watermark")
	require.Regexp(t, `The job's watermark lay in the future, at .*, until ops7 brought it back at `, s.ask("why", "sync-orders", next).Stdout)
	past := time.Now().Truncate(time.Hour).Format(time.RFC3339)
	require.Contains(t, s.ask("why", "sync-orders", past).Stdout, "Until ops7 brought it back at ")

	later := s.claim("sync-orders", time.Now().Add(time.Second).UnixMilli())
	require.Greater(t, later.Token, g.Token)
	_, err := claimAs(t.Context(), s.store, "sync-orders", ran.UnixMilli(), "r2")
	require.EqualError(t, err, "decided", "it ran by the wrong clock")
	record, err := s.store.Inspect(t.Context(), "sync-orders")
	require.NoError(t, err)
	require.Equal(t, ran.UnixMilli(), record.Watermark)
}

// TestRepairedJobRunsOnItsWorker has a worker accept a clock that is 8 h ahead, which is then right
// again.
func TestRepairedJobRunsOnItsWorker(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithClock())
	path := filetest.Config(t, fmt.Sprintf("redis: {url: %q}\nlease: {ttl: 1s}\njobs:\n- {name: often, schedule: \"@every 1s\", log: {message: x}}\n", server.URL()))
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	p.Ready(http.StatusOK)
	p.Await("tick settled", "job", "often")
	// settled reports whether a tick between two times was settled.
	settled := func(after, before time.Time) bool {
		for _, r := range p.All("tick settled", "job", "often") {
			tick, err := time.Parse(time.RFC3339, r["tick"].(string))
			require.NoError(t, err)
			if tick.After(after) && tick.Before(before) {
				return true
			}
		}
		return false
	}
	server.SetClock(8 * time.Hour)
	began := time.Now()
	require.Eventually(t, func() bool { return settled(began.Add(7*time.Hour), began.Add(9*time.Hour)) }, workertest.Patience, 20*time.Millisecond, "the clock is accepted")
	trusted := len(p.All("store's clock is trusted"))
	server.SetClock(0)
	require.Eventually(t, func() bool { return len(p.All("store's clock is trusted")) > trusted }, workertest.Patience, 20*time.Millisecond)

	r := workertest.Do(t, nil, "repair", "often", "--config", path)
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "often is repaired: ")
	repaired := time.Now()
	require.Eventually(t, func() bool { return settled(repaired, repaired.Add(time.Minute)) }, workertest.Patience, 20*time.Millisecond)
}
