package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
)

func TestAuditShowsWhoDidWhatAndWhy(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	for _, args := range [][]string{
		{"pause", "sync-orders", "--by", "ann", "--reason", "the database moves"},
		{"resume", "sync-orders", "--by", "bob", "--reason", "it has\nmoved \x1b[31m"},
		{"trigger", "sync-orders", "--by", "ann", "--reason", "to see", "--key", "k1"},
		{"cancel", "sync-orders", "--by", "bob", "--reason", "seen"},
	} {
		require.Equal(t, 0, s.ask(args...).Code, args)
	}
	r := s.ask("history", "sync-orders", "-n", "1")
	require.Contains(t, r.Stdout, `triggered by ann, key k1 ("to see"); cancelled by bob ("seen")`)
	r = s.ask("why", "sync-orders")
	require.Contains(t, r.Stdout, `with key "k1" because "to see"`)
	require.Contains(t, r.Stdout, `It was cancelled by bob because "seen"`)
	f, err := fleet.New(s.store)
	require.NoError(t, err)
	_, err = f.Pause(t.Context(), "sync-orders", fleet.Act{By: "deploy", Via: wire.ViaAPI})
	require.NoError(t, err)

	r = s.ask("audit")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Regexp(t, `(?s)^AT +WHO +VIA +DID +WHAT +WHY *\n`+
		`[^\n]+ deploy +api +paused +sync-orders *\n`+
		`[^\n]+ bob +cli +cancelled +sync-orders \(tick [^)]+\) +seen\n`+
		`[^\n]+ ann +cli +triggered +sync-orders \(tick [^)]+, key k1\) +to see\n`+
		`[^\n]+ bob +cli +resumed +sync-orders \(which ann had paused\) +it has moved \?\[31m\n`+
		`[^\n]+ ann +cli +paused +sync-orders +the database moves\n$`, r.Stdout)
	require.Regexp(t, `^the log takes [\d.]+ (B|KiB) of 4 MiB\n$`, r.Stderr)

	var log struct {
		Acts []struct {
			Kind, Job, By, Via, Reason string
			At                         time.Time
		}
		Next   string
		Budget int `json:"budget_bytes"`
		Used   int `json:"used_bytes"`
	}
	s.json(&log, "audit", "-n", "2", "--budget", "128KiB")
	require.Len(t, log.Acts, 2)
	require.Equal(t, "cancelled", log.Acts[1].Kind)
	require.Equal(t, "sync-orders", log.Acts[1].Job)
	require.Equal(t, "seen", log.Acts[1].Reason)
	require.WithinDuration(t, time.Now(), log.Acts[1].At, time.Hour)
	require.NotEmpty(t, log.Next)
	require.Equal(t, 128<<10, log.Budget)
	require.Positive(t, log.Used)
	s.json(&log, "audit", "-n", "1")
	require.Equal(t, 128<<10, log.Budget, "it lasts")
}

func TestTickRunsAgain(t *testing.T) {
	s := newSite(t)
	s.contended("sync-orders")
	tick, lost := s.begin+1000, s.begin+2000
	s.settle(s.claim("sync-orders", tick), wire.Failed, wire.Note{})
	s.settle(s.claim("sync-orders", lost), wire.Lost, wire.Note{})

	r := s.ask("run-again", "sync-orders", fmt.Sprint(tick), "--by", "ann", "--reason", "it is mended")
	require.Equal(t, 0, r.Code, r.Stderr)
	id := strings.TrimSpace(r.Stdout)
	require.NotContains(t, id, fmt.Sprint(tick))
	r = s.ask("history", "sync-orders")
	require.Regexp(t, `waiting .*triggered by ann \("it is mended"\); runs .* again`, r.Stdout)
	require.Regexp(t, `failed .*runs again as `, r.Stdout)
	require.Regexp(t, `ann +cli +triggered +sync-orders \(tick [^)]+, to run [^)]+ again\) +it is mended`, s.ask("audit").Stdout)

	r = s.ask("run-again", "sync-orders", id)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "the tick cannot run again: it is waiting")
	r = s.ask("run-again", "sync-orders", fmt.Sprint(lost))
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "it was lost, so it may have done its work")
	require.Equal(t, 0, s.ask("run-again", "sync-orders", fmt.Sprint(lost), "--again").Code)
	r = s.ask("run-again", "sync-orders", fmt.Sprint(s.begin-1000))
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stderr, "the history does not have it; its oldest entry is that of")
	r = s.ask("run-again", "sync-orders")
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, "takes the name of a job and a tick, and got 1 argument")
}
