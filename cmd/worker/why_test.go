package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
)

func TestWhyExplainsATick(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders", "nightly-report")
	tick := time.UnixMilli(s.begin).Truncate(time.Hour).Add(time.Hour).UnixMilli() // one of the schedule
	s.settle(s.claim("sync-orders", tick), "failed", wire.Note{Started: time.UnixMilli(tick + 100), Error: "exit status 3"})

	r := s.ask("why", "sync-orders")
	require.Equal(t, 0, r.Code, r.Stderr)
	head := "sync-orders, tick of " + time.UnixMilli(tick).UTC().Format("2006-01-02 15:04:05 -0700") + ", failed: r1 started it at "
	require.Contains(t, r.Stdout, head)
	require.Contains(t, r.Stdout, `, and it failed after `)
	require.Contains(t, r.Stdout, `: "exit status 3".`)
	for _, same := range []string{
		fmt.Sprint(tick), fmt.Sprintf("billing/sync-orders/%d", tick), time.UnixMilli(tick).UTC().Format(time.RFC3339),
		time.UnixMilli(tick).UTC().Format(time.DateTime), time.UnixMilli(tick).UTC().Format("15:04"),
	} {
		require.Equal(t, r, s.ask("why", "sync-orders", same), same)
	}
	r = s.ask("why", "nightly-report", "2026-01-01 02:30")
	require.Contains(t, r.Stdout, "nightly-report, tick of 2026-01-01 02:30:00 +0900, not scheduled: ")
	require.Contains(t, r.Stdout, "\npolicy: schedule: 0 2 31 12 *\nremedy: A schedule that has it; to run the job now, trigger it.\n")

	var j struct {
		Job, ID, Verdict, Text string
		Tick                   time.Time
		Entry                  *struct{ Error string }
	}
	s.json(&j, "why", "sync-orders")
	require.Equal(t, "failed", j.Verdict)
	require.Equal(t, fmt.Sprintf("billing/sync-orders/%d", tick), j.ID)
	require.Equal(t, tick, j.Tick.UnixMilli())
	require.Equal(t, "exit status 3", j.Entry.Error)
	require.Contains(t, j.Text, "r1 started it at ")
}
