package fleet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// lossy is a store whose answers to pauses and resumes get lost.
type lossy struct {
	*memlease.Store
	lost bool
}

var errLost = errors.New("the answer was lost")

func (s *lossy) Pause(ctx context.Context, name string, p protocol.Pause) (protocol.Pause, error) {
	a, err := s.Store.Pause(ctx, name, p)
	if s.lost {
		return protocol.Pause{}, errLost
	}
	return a, err
}

func (s *lossy) Resume(ctx context.Context, name string, r protocol.Resume) (*protocol.Pause, error) {
	a, err := s.Store.Resume(ctx, name, r)
	if s.lost {
		return nil, errLost
	}
	return a, err
}

func TestRepeatedPauseAndResumeAreAuditedOnce(t *testing.T) {
	inWorld(t, func(w world) {
		ctx, store := w.Context(), &lossy{Store: w.store}
		f, err := fleet.New(store)
		require.NoError(w, err)
		w.contended("report")
		act := fleet.Act{By: "ann", Reason: "the database moves"}
		store.lost = true
		require.ErrorIs(w, second(f.Pause(ctx, "report", act)), errLost)
		require.Empty(w, w.acts())
		store.lost = false
		for range 2 {
			_, err = f.Pause(ctx, "report", act)
			require.NoError(w, err)
		}
		time.Sleep(time.Hour) // the job's ticks come due
		store.lost = true
		require.ErrorIs(w, second(f.Resume(ctx, "report", act)), errLost)
		store.lost = false
		time.Sleep(time.Second)
		_, err = f.Resume(ctx, "report", fleet.Act{By: "bob"})
		require.NoError(w, err)
		require.Len(w, w.acts(), 1, "bob has resumed nothing")
		for range 2 {
			was, err := f.Resume(ctx, "report", act)
			require.NoError(w, err)
			require.Nil(w, was)
		}
		require.Equal(w, []string{"resumed report by ann via go: the database moves", "paused report by ann via go: the database moves"}, w.acts())
	})
}

func TestRepeatedRequestTriggersOnce(t *testing.T) {
	inWorld(t, func(w world) {
		ctx := w.Context()
		w.contended("report")
		ask := func(request string) fleet.Triggered {
			a, err := w.fleet.Trigger(ctx, "report", fleet.TriggerOptions{By: "ann", Request: request})
			require.NoError(w, err)
			return a
		}
		first, served := ask("one"), ask("two")
		require.Equal(w, protocol.Opened, first.Status)
		require.Equal(w, protocol.Waiting, served.Status, "by the tick that waits")
		require.Equal(w, first, ask("one"))
		w.claim("report", first.Tick.UnixMilli(), "worker-1")
		require.Equal(w, first, ask("one"))
		require.Equal(w, served, ask("two"), "though its tick waits no more")
		require.NotEqual(w, first.Tick, ask("three").Tick)
		require.Len(w, w.acts(), 2)
		require.Error(w, second(w.fleet.Trigger(ctx, "report", fleet.TriggerOptions{By: "ann", Request: "a b"})))
	})
}
