package fleet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// removing is a store whose first answers to removals get lost, and that does something before
// each.
type removing struct {
	*memlease.Store
	lost   int
	before func()
}

func (s *removing) Remove(ctx context.Context, q protocol.Remove) (protocol.Removed, error) {
	if s.before != nil {
		s.before()
	}
	a, err := s.Store.Remove(ctx, q)
	if s.lost > 0 {
		s.lost--
		return protocol.Removed{}, errors.New("connection reset")
	}
	return a, err
}

func forgetting(t *testing.T, test func(w world, store *removing)) {
	inWorld(t, func(w world) {
		store := &removing{Store: w.store}
		f, err := fleet.New(store)
		require.NoError(w, err)
		w.fleet = f
		test(w, store)
	})
}

func TestForgottenJobLeavesOnlyTheFact(t *testing.T) {
	forgetting(t, func(w world, store *removing) {
		w.contended("report")
		require.NoError(w, wire.NoteDefinition(w.Context(), store, job(w.T, "@hourly")))
		g := w.claim("report", time.Now().Add(time.Second).UnixMilli(), "r1")
		w.settle(g, "succeeded", wire.Note{})
		time.Sleep(time.Second)
		_, err := w.fleet.Pause(w.Context(), "report", fleet.Act{By: "ops1"})
		require.NoError(w, err)
		journals := []string{"report", wire.DefinitionsOf("report")}
		kept := func() (n int) {
			for _, name := range journals {
				notes, err := store.Notes(w.Context(), name, 0)
				require.NoError(w, err)
				n += len(notes)
			}
			return n
		}
		require.Equal(w, 2, kept())

		store.lost = 2
		found, err := w.fleet.Forgettable(w.Context(), "report")
		require.NoError(w, err)
		done, err := w.fleet.Forget(w.Context(), "report", fleet.Act{By: "ops1"})
		require.NoError(w, err)
		require.Equal(w, fleet.Forgotten{Job: "report", Watermark: time.UnixMilli(g.Tick).UTC(), Outcomes: 1}, found)
		found.By = "ops1"
		require.Equal(w, found, done)
		require.Zero(w, kept())
		r, err := store.Inspect(w.Context(), "report")
		require.NoError(w, err)
		require.Equal(w, protocol.Record{Name: "report"}, r)
		facts, err := w.fleet.Facts(w.Context(), "")
		require.NoError(w, err)
		require.Len(w, facts, 1)
		require.Equal(w, fleet.Fact{
			Kind: wire.FactForgotten, Job: "report", By: "ops1", Via: wire.ViaGo, Token: g.Token, To: done.Watermark, At: facts[0].At,
		}, facts[0])
		_, err = w.fleet.Forget(w.Context(), "report", fleet.Act{By: "ops1"})
		require.ErrorIs(w, err, protocol.ErrUnknown)
	})
}

func TestJobThatIsClaimedMeanwhileIsNotForgotten(t *testing.T) {
	forgetting(t, func(w world, store *removing) {
		w.contended("report")
		tick := time.Now().UnixMilli()
		var g protocol.Grant
		store.before = func() {
			tick++
			g = w.claim("report", tick, "r1")
		}
		_, err := w.fleet.Forget(w.Context(), "report", fleet.Act{By: "ops1"})
		require.ErrorIs(w, err, fleet.ErrInUse)
		require.ErrorContains(w, err, "1 tick is open")
		w.settle(g, "succeeded", wire.Note{})
		store.before = func() {
			tick++
			w.settle(w.claim("report", tick, "r1"), "succeeded", wire.Note{})
		}
		_, err = w.fleet.Forget(w.Context(), "report", fleet.Act{By: "ops1"})
		require.ErrorIs(w, err, fleet.ErrInUse)
		require.ErrorContains(w, err, "a replica has worked on it just now")
		require.Len(w, w.history("report", 0), 2)
		_, err = w.fleet.Forget(w.Context(), "report", fleet.Act{By: "a b"})
		require.ErrorContains(w, err, `by: "a b" must start`)
	})
}

// A job of that name would have the notes of both in one journal, and forgetting one would drop
// what is known of the other.
func TestNoJobSharesTheJournalOfDefinitions(t *testing.T) {
	run := func(context.Context, jobs.Run) error { return nil }
	name := wire.DefinitionsOf("report")
	_, err := jobs.New(name, "@hourly", run)
	require.ErrorContains(t, err, "names a journal of definitions")
	for _, name := range []string{"definitions.report", name + "0", "x" + name} {
		_, err := jobs.New(name, "@hourly", run)
		require.NoError(t, err)
	}
}
