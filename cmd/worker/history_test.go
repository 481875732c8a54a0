package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

func TestHistoryPrintsEachTickWithItsOutcome(t *testing.T) {
	s := newSite(t)
	r := s.ask("history", "sync-orders")
	require.Equal(t, 0, r.Code)
	require.Equal(t, "no tick of sync-orders is open or was settled\n", r.Stderr)
	require.Equal(t, "[]\n", s.ask("history", "sync-orders", "--output", "json").Stdout)

	s.contended("sync-orders")
	first := s.claim("sync-orders", s.begin+1000)
	s.claim("sync-orders", s.begin+2000)
	s.settle(first, "failed", wire.Note{Started: time.UnixMilli(s.begin + 1500), Error: "exit status 3\n\x1b[2J"})
	_, _, err := s.store.Skip(t.Context(), protocol.Skip{
		Name: "sync-orders", From: s.begin + 2000, To: s.begin + 12000, Outcome: "missed", Request: "p", Holder: "r2",
		Note: wire.Note{Reason: "too_old", Count: 10}.String(),
	})
	require.NoError(t, err)
	running := s.claim("sync-orders", s.begin+13000)

	r = s.ask("history", "sync-orders")
	require.Equal(t, 0, r.Code, r.Stderr)
	lines := strings.Split(r.Stdout, "\n")
	require.Len(t, lines, 7)
	require.Equal(t, []string{"SCHEDULED", "STARTED", "ENDED", "TOOK", "REPLICA", "TOKEN", "ATTEMPT", "OUTCOME", "WHY"}, strings.Fields(lines[0]))
	require.Regexp(t, `running$`, lines[1])
	require.Regexp(t, `  r2  .*  missed   too old; 10 ticks after `, lines[2])
	require.Regexp(t, `  -  .*  r1  .*  skipped  overlap$`, lines[3])
	require.Regexp(t, `  r1 .*  1 +failed   exit status 3$`, lines[4])
	require.Equal(t, "    ?[2J", lines[5])
	require.Len(t, strings.Split(s.ask("history", "sync-orders", "-n", "1").Stdout, "\n"), 4)

	var list []struct {
		Job, ID, State, Outcome, Replica, Reason, Error string
		Scheduled, Started, Ended, From                 *time.Time
		Token                                           int64
		Attempt, Count                                  int
	}
	s.json(&list, "history", "sync-orders")
	require.Len(t, list, 4)
	require.Equal(t, "running", list[0].State)
	require.Empty(t, list[0].Outcome)
	require.Equal(t, running.Token, list[0].Token)
	require.Nil(t, list[0].Ended)
	require.Equal(t, 10, list[1].Count)
	require.Equal(t, s.begin+2000, list[1].From.UnixMilli())
	failed := list[3]
	require.Equal(t, "failed", failed.Outcome)
	require.Equal(t, "exit status 3\n\x1b[2J", failed.Error)
	require.Equal(t, 1, failed.Attempt)
	require.Equal(t, first.Token, failed.Token)
	require.Equal(t, s.begin+1000, failed.Scheduled.UnixMilli())
	require.Equal(t, s.begin+1500, failed.Started.UnixMilli())
	require.WithinDuration(t, time.Now(), *failed.Ended, time.Minute)
	require.Equal(t, "overlap", list[2].Reason)
	require.Nil(t, list[2].Started)
}
