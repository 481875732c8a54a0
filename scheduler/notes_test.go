package scheduler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// noteOf returns what the store keeps beside the outcome of a tick.
func (f *fleet) noteOf(job string, tick time.Time) (protocol.Outcome, wire.Note) {
	f.t.Helper()
	for _, s := range f.inspect(job).Settled {
		if s.Tick == tick.UnixMilli() {
			require.LessOrEqual(f.t, len(s.Note), protocol.MaxNote)
			return s.Outcome, wire.ParseNote(s.Note)
		}
	}
	require.Fail(f.t, "not settled", "%s at %s", job, since(tick))
	return "", wire.Note{}
}

func TestHistoryShowsStartAndErrorOfARun(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("good", "@every 10s", takes(2*time.Second))
		f.job("bad", "@every 10s", func(context.Context, jobs.Run) error { return errWork }, retries(2, 3*time.Second))
		f.job("chatty", "@every 10s", func(context.Context, jobs.Run) error { return errors.New(strings.Repeat("long \x00 \" <&> ", 1000)) })
		f.job("panics", "@every 10s", func(context.Context, jobs.Run) error { panic("it") })
		f.store.setClock(time.Minute) // by fleet time, whatever this machine's clock says
		f.startMany(3)
		f.sleepTo(95 * time.Second)
		tick := at(20 * time.Second)

		outcome, note := f.noteOf("good", tick)
		require.Equal(t, wire.Succeeded, outcome)
		require.WithinDuration(t, tick, note.Started, 5*time.Millisecond)
		require.Equal(t, 2*time.Second, note.Ended.Sub(note.Started))
		require.Positive(t, note.Renewals)
		require.Positive(t, note.Margin)
		note.Started, note.Ended, note.Renewals, note.Margin, note.Margins = time.Time{}, time.Time{}, 0, 0, nil
		require.Equal(t, wire.Note{}, note, "and nothing else")

		outcome, note = f.noteOf("bad", tick)
		require.Equal(t, wire.Failed, outcome)
		require.Equal(t, errWork.Error(), note.Error)
		require.WithinDuration(t, tick, note.Started, 5*time.Millisecond)

		_, note = f.noteOf("chatty", tick)
		require.True(t, strings.HasPrefix(note.Error, "long"))
		_, note = f.noteOf("panics", tick)
		require.Contains(t, note.Error, "it")
	})
}

// TestRunKeepsItsEndThroughAnOutage: it is settled later.
func TestRunKeepsItsEndThroughAnOutage(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1m", takes(time.Second))
		r := f.start("a")
		f.sleepTo(60500 * time.Millisecond)
		r.link.cut()
		f.sleepTo(63500 * time.Millisecond)
		r.link.heal()
		f.sleepTo(70 * time.Second)
		tick := at(time.Minute)
		_, note := f.noteOf("job", tick)
		require.WithinDuration(t, tick, note.Started, 5*time.Millisecond)
		require.WithinDuration(t, tick.Add(time.Second), note.Ended, 5*time.Millisecond)
		require.GreaterOrEqual(t, f.inspect("job").Settled[0].At, tick.Add(3500*time.Millisecond))
		reader, err := tools.New(f.store)
		require.NoError(t, err)
		view, err := reader.History(t.Context(), "job", 1)
		require.NoError(t, err)
		require.Equal(t, time.Second, view[0].Took().Round(5*time.Millisecond))
	})
}

func TestHistoryShowsWhyThereWasNoRun(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("forbid", "@every 10s", takes(15*time.Second))
		f.job("queue", "@every 10s", takes(25*time.Second), queued)
		f.job("paused", "@every 10s", takes(0))
		f.job("config", "@every 10s", takes(0), pausedByConfig)
		f.job("misfire", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireSkip, time.Second))
		f.job("replace", "@every 10s", takes(time.Hour), replacing)
		f.startMany(3)
		f.sleepTo(5 * time.Second)
		f.pause("paused")
		f.sleepTo(39 * time.Second)
		for name, test := range map[string]struct {
			tick    time.Duration
			outcome protocol.Outcome
			reason  string
		}{
			"forbid": {20 * time.Second, wire.Skipped, wire.ReasonOverlap},
			"queue":  {20 * time.Second, wire.Skipped, wire.ReasonNewer},
			"paused": {20 * time.Second, wire.Skipped, wire.ReasonPaused},
		} {
			outcome, note := f.noteOf(name, at(test.tick))
			require.Equal(t, test.outcome, outcome, name)
			require.Equal(t, wire.Note{Reason: test.reason}, note, name)
		}
		outcome, note := f.noteOf("config", at(20*time.Second))
		require.Equal(t, wire.Skipped, outcome)
		require.Equal(t, wire.Note{Reason: wire.ReasonPaused, Count: 1}, note)
		outcome, note = f.noteOf("replace", at(20*time.Second))
		require.Equal(t, wire.Replaced, outcome)
		note.Renewals, note.Margin, note.Margins = 0, 0, nil
		require.Equal(t, wire.Note{Started: at(20 * time.Second), Ended: at(30 * time.Second), Error: protocol.ErrReplaced.Error()}, note)

		f.stopAll()
		f.sleepTo(75 * time.Second)
		f.startMany(3)
		f.sleepTo(76 * time.Second)
		outcome, note = f.noteOf("misfire", at(70*time.Second))
		require.Equal(t, wire.Missed, outcome)
		require.Equal(t, wire.Note{Reason: wire.ReasonMisfire, Count: 4}, note)
	})
}

func TestTheHistorySaysThatATickWasLost(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", takes(time.Hour), jobs.WithDelivery(jobs.AtMostOnce))
		f.startMany(3)
		f.sleepTo(65 * time.Second)
		f.replica(f.runs.running("job")[0].Replica).link.cut()
		f.sleepTo(90 * time.Second)
		outcome, note := f.noteOf("job", at(time.Minute))
		require.Equal(t, wire.Lost, outcome)
		require.Equal(t, wire.Note{Reason: protocol.NoteExpired}, note)
	})
}

// TestHistoryOfTakeoverIsOfItsLastRun: the history does not say how the run before ended.
func TestHistoryOfTakeoverIsOfItsLastRun(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "* * * * *", firstTakes(time.Hour, time.Second))
		f.startMany(3, scheduler.WithShutdownGrace(0))
		f.sleepTo(65 * time.Second)
		f.halt(f.replica(f.runs.running("job")[0].Replica))
		f.sleepTo(70 * time.Second)
		tool, err := tools.New(f.store)
		require.NoError(t, err)
		history, err := tool.History(context.Background(), "job", 0)
		require.NoError(t, err)
		require.Len(t, history, 1)
		require.Equal(t, 2, history[0].Attempts)
		require.Equal(t, at(65*time.Second), history[0].Started)
		require.Equal(t, at(66*time.Second), history[0].Ended)
		require.Equal(t, f.runs.of("job")[1].Replica, history[0].Replica)
		require.Empty(t, history[0].Error)
	})
}

func TestHistoryOfLeaderTaskShowsItsLeaders(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.leader("job", leads)
		f.startMany(3)
		f.sleepTo(time.Minute)
		old := f.leading("job").Replica()
		began := f.runs.of("job")[0].start
		f.halt(f.replica(old))
		tool, err := tools.New(f.store)
		require.NoError(t, err)
		time.Sleep(time.Second)
		history, err := tool.History(context.Background(), "job", 0)
		require.NoError(t, err)
		require.Len(t, history, 2)
		require.Equal(t, wire.StateRunning, history[0].State)
		require.Equal(t, old, history[1].Replica)
		require.WithinDuration(t, began, history[1].Started, time.Millisecond)
		require.Equal(t, at(time.Minute), history[1].Ended)
		require.Equal(t, scheduler.ErrStopping.Error(), history[1].Error)
	})
}
