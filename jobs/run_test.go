package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
)

func TestTickIDIsNamespaceJobAndTime(t *testing.T) {
	instant := time.Date(2026, 3, 29, 1, 30, 0, 250_000_000, time.UTC)
	run := jobs.Run{Namespace: "billing", Job: "nightly-report", Tick: instant}
	require.Equal(t, "billing/nightly-report/1774747800250", run.TickID())
}

func TestTickIDOfAStoredScheduleHasItsKey(t *testing.T) {
	run := jobs.Run{Namespace: "billing", Job: "report", Key: "acme", Tick: time.UnixMilli(1774747800250)}
	require.Equal(t, "billing/report/acme/1774747800250", run.TickID())
}

func TestTickIDIsTheSameForEveryAttempt(t *testing.T) {
	instant := time.UnixMilli(1774747800250)
	a := jobs.Run{Namespace: "n", Job: "j", Tick: instant.UTC(), Replica: "a", Token: 1, Attempt: 1}
	b := jobs.Run{Namespace: "n", Job: "j", Tick: instant.In(time.FixedZone("", 3600)), Replica: "b", Token: 2, Attempt: 2}
	require.Equal(t, a.TickID(), b.TickID())
}

func TestRunTravelsInTheContext(t *testing.T) {
	_, ok := jobs.FromContext(t.Context())
	require.False(t, ok)

	run := jobs.Run{Job: "j", Attempt: 2}
	ctx := jobs.NewContext(t.Context(), run)
	got, ok := jobs.FromContext(ctx)
	require.True(t, ok)
	require.Equal(t, run, got)

	inner, ok := jobs.FromContext(jobs.NewContext(ctx, jobs.Run{Job: "k"}))
	require.True(t, ok)
	require.Equal(t, "k", inner.Job)
}
