package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

func TestPauseAndResumeHoldForTheFleet(t *testing.T) {
	s := newSite(t)
	r := s.ask("pause", "sync-orders")
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, `no replica has ever served job "sync-orders" in namespace "billing": start one first, with run`)

	s.contended("sync-orders")
	r = s.ask("pause", "sync-orders", "--reason", "the database moves")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Regexp(t, `^sync-orders is paused: by ops1-at-[\w.-]+ since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000, the database moves\n$`, r.Stdout)
	r = s.ask("pause", "sync-orders", "--by", "ops2", "--reason", "me\x1b[31m too")
	require.Equal(t, 0, r.Code)
	require.Regexp(t, `^sync-orders was already paused: by ops2 since .*, me\?\[31m too\n$`, r.Stdout)

	var p struct {
		Job             string
		Paused, Changed bool
		Pause           *struct{ By, Why, Since string }
	}
	s.json(&p, "pause", "sync-orders")
	require.Equal(t, "sync-orders", p.Job)
	require.True(t, p.Paused)
	require.False(t, p.Changed)
	require.Equal(t, "me\x1b[31m too", p.Pause.Why, "the newest reason")

	record, err := s.store.Inspect(t.Context(), "sync-orders")
	require.NoError(t, err)
	require.Equal(t, "me\x1b[31m too", record.Paused.Reason)

	r = s.ask("resume", "sync-orders", "--by", "ops2")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Regexp(t, `^sync-orders is resumed; it was paused by ops2 .*, me\?\[31m too\n$`, r.Stdout)
	require.Equal(t, workertest.Result{Stdout: "sync-orders was not paused\n"}, s.ask("resume", "sync-orders"))
	s.json(&p, "resume", "sync-orders")
	require.False(t, p.Paused)
	require.False(t, p.Changed)
	require.Nil(t, p.Pause)

	s.json(&p, "pause", "sync-orders", "--by", "ops2")
	require.True(t, p.Changed)
	require.Equal(t, "ops2", p.Pause.By)
}
