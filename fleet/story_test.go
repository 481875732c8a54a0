package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func clock(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05.000", "2026-11-20 "+text+".000"[min(4, max(0, len(text)-8)):])
	require.NoError(t, err)
	return at
}

func job(t *testing.T, schedule string, options ...jobs.Option) *jobs.Job {
	t.Helper()
	j, err := jobs.New("report", schedule, func(context.Context, jobs.Run) error { return nil }, options...)
	require.NoError(t, err)
	return j
}

// story makes records of what happened.
type story struct{ t *testing.T }

func (s story) at(text string) time.Time { return clock(s.t, text) }

func (s story) ms(text string) int64 { return s.at(text).UnixMilli() }

func (s story) ran(tick, started, ended, replica string, attempt int, outcome protocol.Outcome, fault string) protocol.Settled {
	note := wire.Note{Started: s.at(started), Error: fault}
	return protocol.Settled{
		Tick: s.ms(tick), Token: s.at(started).UnixMicro(), Attempt: attempt, Outcome: outcome, At: s.at(ended),
		Holder: replica, Note: note.String(),
	}
}

func (s story) skipped(tick, at, replica, note string) protocol.Settled {
	return protocol.Settled{Tick: s.ms(tick), Outcome: "skipped", At: s.at(at), Holder: replica, Note: note}
}

func (s story) passed(from, to, at, replica string, outcome protocol.Outcome, reason string, count int) protocol.Settled {
	return protocol.Settled{
		Tick: s.ms(to), From: s.ms(from), Outcome: outcome, At: s.at(at), Holder: replica,
		Note: wire.Note{Reason: reason, Count: count}.String(),
	}
}

func (s story) open(tick, granted, replica string, attempt int, remaining time.Duration) protocol.Open {
	o := protocol.Open{Tick: s.ms(tick), Holder: replica, Attempt: attempt, Remaining: remaining}
	if attempt > 0 {
		o.Token = s.at(granted).UnixMicro()
	}
	return o
}
