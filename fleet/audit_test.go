package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease/memlease"
)

// acts returns what the audit log says, newest first.
func (w world) acts() (list []string) {
	w.Helper()
	log, err := w.fleet.Audit(w.Context(), "", protocol.MaxAuditPage)
	require.NoError(w, err)
	require.Empty(w, log.Next)
	for _, f := range log.Facts {
		list = append(list, fmt.Sprintf("%s %s%s by %s via %s: %s", f.Kind, f.Job, f.Lock, f.By, f.Via, f.Reason))
	}
	return list
}

func TestAuditHasEveryActNewestFirst(t *testing.T) {
	inWorld(t, func(w world) {
		ctx := w.Context()
		w.contended("report")
		_, err := w.fleet.Pause(ctx, "report", fleet.Act{By: "ann", Reason: "the database moves", Via: wire.ViaCLI})
		require.NoError(w, err)
		_, err = w.fleet.Resume(ctx, "report", fleet.Act{By: "bob", Reason: "it has moved", Via: wire.ViaConsole})
		require.NoError(w, err)
		triggered, err := w.fleet.Trigger(ctx, "report", fleet.TriggerOptions{By: "ann", Reason: "to see", Via: wire.ViaAPI})
		require.NoError(w, err)
		_, err = w.fleet.Cancel(ctx, "report", triggered.Tick, fleet.Act{By: "bob", Reason: "seen"})
		require.NoError(w, err)
		locks := w.store
		a, err := locks.ClaimLock(ctx, protocol.LockClaim{Name: "door", Holder: "r1", Request: "q", TTL: time.Hour, Permits: 1, Limit: 1})
		require.NoError(w, err)
		held, err := w.fleet.ForceRelease(ctx, "door", a.Token, fleet.Act{By: "ann", Reason: "r1 hangs"})
		require.NoError(w, err)
		require.True(w, held)
		_, err = w.fleet.Forget(ctx, "report", fleet.Act{By: "ann", Reason: "gone"})
		require.NoError(w, err)
		require.Equal(w, []string{
			"forgotten report by ann via go: gone",
			"released door by ann via go: r1 hangs",
			"cancelled report by bob via go: seen",
			"triggered report by ann via api: to see",
			"resumed report by bob via console: it has moved",
			"paused report by ann via cli: the database moves",
		}, w.acts(), "also of the job that is gone")

		log, err := w.fleet.Audit(ctx, "", 2)
		require.NoError(w, err)
		require.Equal(w, "r1", log.Facts[1].Replica, "who held the lock")
		require.Equal(w, protocol.DefaultAuditBudget, log.Budget)
		require.Positive(w, log.Used)
		next, err := w.fleet.Audit(ctx, log.Next, 1)
		require.NoError(w, err)
		require.Equal(w, wire.FactCancelled, next.Facts[0].Kind)
	})
}

func TestActsThatChangeNothingAreNotAudited(t *testing.T) {
	inWorld(t, func(w world) {
		ctx := w.Context()
		w.contended("report")
		_, err := w.fleet.Pause(ctx, "report", fleet.Act{By: "ann"})
		require.NoError(w, err)
		for _, by := range []string{"ann", "bob"} { // as of a lost answer, and another's
			p, err := w.fleet.Pause(ctx, "report", fleet.Act{By: by})
			require.NoError(w, err)
			require.Equal(w, "ann", p.By)
		}
		for range 2 {
			time.Sleep(time.Hour)
			_, err = w.fleet.Pause(ctx, "report", fleet.Act{By: "bob", Reason: "another"})
			require.NoError(w, err)
		}
		require.Equal(w, []string{"paused report by bob via go: another", "paused report by ann via go: "}, w.acts())
		_, err = w.fleet.Resume(ctx, "report", fleet.Act{By: "ann"})
		require.NoError(w, err)
		_, err = w.fleet.Resume(ctx, "report", fleet.Act{By: "bob"})
		require.NoError(w, err)
		_, err = w.fleet.Repair(ctx, "report", fleet.Act{By: "bob"})
		require.NoError(w, err)
		_, err = w.fleet.Cancel(ctx, "report", time.Now().Add(time.Hour), fleet.Act{By: "bob"})
		require.NoError(w, err)
		held, err := w.fleet.ForceRelease(ctx, "door", 7, fleet.Act{By: "bob"})
		require.NoError(w, err)
		require.False(w, held)
		require.Equal(w, []string{"resumed report by ann via go: ", "paused report by bob via go: another", "paused report by ann via go: "}, w.acts())
	})
}

func TestActsThatAreRefusedAreNotAudited(t *testing.T) {
	inWorld(t, func(w world) {
		ctx := w.Context()
		w.contended("report")
		for _, act := range []fleet.Act{{}, {By: "a b"}, {By: "ann", Via: "the web"}} {
			for what, err := range map[string]error{
				"pause":   second(w.fleet.Pause(ctx, "report", act)),
				"resume":  second(w.fleet.Resume(ctx, "report", act)),
				"cancel":  second(w.fleet.Cancel(ctx, "report", time.Now(), act)),
				"repair":  second(w.fleet.Repair(ctx, "report", act)),
				"forget":  second(w.fleet.Forget(ctx, "report", act)),
				"release": second(w.fleet.ForceRelease(ctx, "door", 1, act)),
				"trigger": second(w.fleet.Trigger(ctx, "report", fleet.TriggerOptions{By: act.By, Via: act.Via})),
			} {
				require.ErrorContains(w, err, "must start with a letter or digit", what)
			}
		}
		_, err := w.fleet.Pause(ctx, "nobody", fleet.Act{By: "ann"})
		require.ErrorIs(w, err, protocol.ErrUnknown)
		require.Empty(w, w.acts())
	})
}

func second[T any](_ T, err error) error { return err }

// deafening loses the first answers to appends to its audit log, and to releases of locks.
type deafening struct {
	*memlease.Store
	lost int
}

var errReset = errors.New("connection reset")

func (s *deafening) lose(err error) error {
	if s.lost--; s.lost >= 0 {
		return errReset
	}
	return err
}

func (s *deafening) AppendAudit(ctx context.Context, request string, text []byte) error {
	return s.lose(s.Store.AppendAudit(ctx, request, text))
}

func (s *deafening) ForceRelease(ctx context.Context, name string, token int64) (bool, error) {
	held, err := s.Store.ForceRelease(ctx, name, token)
	return held, s.lose(err)
}

func TestLostRepliesAreAuditedOnce(t *testing.T) {
	inWorld(t, func(w world) {
		store := &deafening{Store: w.store}
		f, err := fleet.New(store)
		require.NoError(w, err)
		w.fleet = f
		w.contended("report")
		store.lost = 1
		_, err = f.Pause(w.Context(), "report", fleet.Act{By: "ann"})
		require.NoError(w, err)
		a, err := store.ClaimLock(w.Context(), protocol.LockClaim{Name: "door", Holder: "r1", Request: "q", TTL: time.Hour, Permits: 1, Limit: 1})
		require.NoError(w, err)
		store.lost = 1
		held, err := f.ForceRelease(w.Context(), "door", a.Token, fleet.Act{By: "ann"})
		require.NoError(w, err)
		require.True(w, held)
		require.Equal(w, []string{"released door by ann via go: ", "paused report by ann via go: "}, w.acts())
	})
}

func TestReasonsAreBounded(t *testing.T) {
	inWorld(t, func(w world) {
		w.contended("report")
		long := string(make([]byte, 10*protocol.MaxReason))
		for range 3 {
			_, err := w.fleet.Pause(w.Context(), "report", fleet.Act{By: "ann", Reason: long})
			require.NoError(w, err)
			_, err = w.fleet.Resume(w.Context(), "report", fleet.Act{By: "ann", Reason: long})
			require.NoError(w, err)
			time.Sleep(time.Second)
		}
		log, err := w.fleet.Audit(w.Context(), "", 10)
		require.NoError(w, err)
		require.Len(w, log.Facts, 6)
		require.Less(w, log.Used, 6*(protocol.MaxNoteText+200))
		for _, f := range log.Facts {
			require.LessOrEqual(w, len(f.Reason), protocol.MaxReason)
		}
	})
}
