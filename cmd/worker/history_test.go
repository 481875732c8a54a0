package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease/protocol"
)

func TestHistoryPrintsEachTickWithItsOutcome(t *testing.T) {
	s := newSite(t)
	r := s.ask("history", "sync-orders")
	require.Equal(t, 0, r.code)
	require.Equal(t, "no tick of sync-orders is open or was settled\n", r.stderr)
	require.Equal(t, "[]\n", s.ask("history", "sync-orders", "--output", "json").stdout)

	s.contended("sync-orders")
	first := s.claim("sync-orders", s.begin+1000)
	s.claim("sync-orders", s.begin+2000)
	s.settle(first, "failed", fleet.Note{Started: time.UnixMilli(s.begin + 1500), Error: "exit status 3\n\x1b[2J"})
	_, _, err := s.store.Pass(t.Context(), protocol.Pass{
		Name: "sync-orders", From: s.begin + 2000, To: s.begin + 12000, Outcome: "missed", Request: "p", Holder: "r2",
		Note: fleet.Note{Reason: "too_old", Count: 10}.String(),
	})
	require.NoError(t, err)
	running := s.claim("sync-orders", s.begin+13000)

	r = s.ask("history", "sync-orders")
	require.Equal(t, 0, r.code, r.stderr)
	lines := strings.Split(r.stdout, "\n")
	require.Len(t, lines, 7)
	require.Equal(t, []string{"SCHEDULED", "STARTED", "ENDED", "TOOK", "REPLICA", "TOKEN", "ATTEMPT", "OUTCOME", "WHY"}, strings.Fields(lines[0]))
	require.Regexp(t, `running$`, lines[1])
	require.Regexp(t, `  r2  .*  missed   too old; 10 ticks after `, lines[2])
	require.Regexp(t, `  -  .*  r1  .*  skipped  overlap$`, lines[3])
	require.Regexp(t, `  r1 .*  1 +failed   exit status 3$`, lines[4])
	require.Equal(t, "    ?[2J", lines[5])
	require.Len(t, strings.Split(s.ask("history", "sync-orders", "-n", "1").stdout, "\n"), 4)

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

// entriesToPrint are of each kind.
func entriesToPrint() []fleet.Entry {
	at := func(minute, second, ms int) time.Time {
		return time.Date(2026, 11, 20, 1, minute, second, ms*int(time.Millisecond), time.UTC)
	}
	return []fleet.Entry{
		{Scheduled: at(30, 0, 0), State: fleet.Running, Started: at(30, 1, 0), Replica: "web-1", Token: 1795138201000000, Attempts: 2, Count: 1},
		{Scheduled: at(25, 0, 123), State: fleet.Waiting, Replica: "ops1", Triggered: true, Count: 1},
		{
			Scheduled: at(20, 0, 0), State: fleet.Settled, Outcome: "succeeded", Started: at(20, 0, 4), Ended: at(21, 3, 120), Replica: "web-2",
			Token: 1795137600004000, Attempts: 1, Count: 1,
		}, {
			Scheduled: at(10, 0, 0), State: fleet.Settled, Outcome: "failed", Started: at(10, 0, 4), Ended: at(10, 0, 9), Replica: "web-2",
			Token: 1795137000004000, Attempts: 3, Count: 1, Error: "exit status 1: no such file\n",
		}, {
			Scheduled: at(9, 0, 0), From: at(0, 0, 0).AddDate(0, 0, -1), State: fleet.Settled, Outcome: "missed", Ended: at(9, 30, 0), Replica: "web-1",
			Count: 500, Reason: "too_old",
		},
	}
}

func TestTablesAreAlignedAndInTheZoneOfTheJob(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	v := view{now: time.Date(2026, 11, 20, 1, 31, 0, 0, time.UTC)}
	golden(t, "history.txt", historyTable(v, entriesToPrint(), tokyo).text(false))
	golden(t, "history-colours.txt", historyTable(v, entriesToPrint(), tokyo).text(true))
	v.human, v.width = true, 120
	people := historyTable(v, entriesToPrint(), tokyo)
	people.fit(v.width)
	golden(t, "history-people.txt", people.text(false))
	requireWidth(t, 120, people.text(false))
}

func TestLinesOfAnErrorAreShownAsLines(t *testing.T) {
	entries := entriesToPrint()[3:4]
	entries[0].Error = "command failed: exit code 1; last output:\n[...]\n\tone\x1b[31m\nFATAL: the reason\n"
	v := view{now: time.Date(2026, 11, 20, 1, 31, 0, 0, time.UTC)}
	require.True(t, strings.HasSuffix(historyTable(v, entries, time.UTC).text(false),
		"failed   command failed: exit code 1; last output:\n    [...]\n     one?[31m\n    FATAL: the reason\n"))
	v.human, v.width = true, 120
	people := historyTable(v, entries, time.UTC)
	people.fit(v.width)
	require.True(t, strings.HasSuffix(people.text(false),
		"    command failed: exit code 1; last output:\n    [...]\n     one?[31m\n    FATAL: the reason\n"), people.text(false))
}

func TestWhatComesFromElsewhereCannotHarmTheTerminal(t *testing.T) {
	require.Equal(t, "a\nb?[31mc\n  d", harmless("a\nb\x1b[31mc\r\n  d\n\n"))
	require.Equal(t, "a b?[31mc?d?e", oneLine("a\nb\x1b[31mc\u202ed\xffe \n"))
	require.Equal(t, "größe 日", oneLine("größe 日"))
}
