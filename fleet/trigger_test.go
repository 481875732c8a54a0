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
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

func TestTriggerRunsOncePerKeyWithinTheRate(t *testing.T) {
	inWorld(t, func(w world) {
		_, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1"})
		require.ErrorIs(w, err, protocol.ErrUnknown)
		w.defined(jobs.WithRate(jobs.Rate{Count: 2, Per: 20 * time.Minute}, 2))

		first, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1", Key: "k", Window: time.Hour})
		require.NoError(w, err)
		require.Equal(w, protocol.Opened, first.Status)
		require.Equal(w, fmt.Sprintf("default/report/%d", first.Tick.UnixMilli()), first.ID)
		list := w.history("report", 0)
		require.Len(w, list, 1)
		require.Equal(w, wire.StateWaiting, list[0].State)
		require.True(w, list[0].Triggered)
		require.Equal(w, "ops1", list[0].Replica)

		again, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops2"})
		require.NoError(w, err)
		require.Equal(w, fleet.Triggered{Status: protocol.Waiting, Tick: first.Tick, ID: first.ID}, again)
		g := w.claim("report", first.Tick.UnixMilli(), "r1")
		time.Sleep(time.Second)
		again, err = w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops2", Key: "k"})
		require.NoError(w, err)
		require.Equal(w, fleet.Triggered{Status: protocol.Repeated, Tick: first.Tick, ID: first.ID}, again)
		require.True(w, again.Accepted())

		second, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops2"})
		require.NoError(w, err)
		require.Equal(w, protocol.Opened, second.Status)
		w.settle(g, "succeeded", wire.Note{})
		g = w.claim("report", second.Tick.UnixMilli(), "r1")
		refused, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops2"})
		require.NoError(w, err)
		require.False(w, refused.Accepted())
		require.InDelta(w, 10*time.Minute-time.Second, refused.Wait, float64(10*time.Millisecond))
		require.Equal(w, time.Now().Add(refused.Wait).UTC(), refused.Next)
		require.Empty(w, refused.ID)
		require.Equal(w, protocol.LimitRate, refused.Limit)
		require.Equal(w, 10*time.Minute, refused.Policy.Every)
		w.settle(g, "succeeded", wire.Note{})

		time.Sleep(refused.Wait)
		third, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops2"})
		require.NoError(w, err)
		require.Equal(w, protocol.Opened, third.Status)
	})
}

func TestTriggersOfOverlappingJobShareNoRun(t *testing.T) {
	inWorld(t, func(w world) {
		w.defined(jobs.WithOverlap(jobs.Allow))
		first, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1"})
		require.NoError(w, err)
		second, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1"})
		require.NoError(w, err)
		require.Equal(w, protocol.Opened, second.Status)
		require.NotEqual(w, first.ID, second.ID)
	})
}

func TestATriggerRefusesWhatMakesNoSense(t *testing.T) {
	inWorld(t, func(w world) {
		_, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "a b", Key: "c d", Window: time.Nanosecond})
		for _, field := range []string{"by", "key", "window"} {
			require.ErrorContains(w, err, "trigger "+field+":")
		}
		leader, err := jobs.New("leader", "", func(context.Context, jobs.Run) error { return nil }, jobs.WithLeader())
		require.NoError(w, err)
		_, err = w.store.Sync(w.Context(), []protocol.Sync{{Name: "leader", Policy: wire.PolicyOf(leader.Spec())}})
		require.NoError(w, err)
		_, err = w.fleet.Trigger(w.Context(), "leader", fleet.TriggerOptions{By: "ops1"})
		require.ErrorIs(w, err, fleet.ErrLeaderTask)
	})
}

// forgetful is a store whose first answers to triggers get lost.
type forgetful struct {
	*memlease.Store
	lost int
}

func (s *forgetful) Trigger(ctx context.Context, t protocol.Trigger) (protocol.Triggered, error) {
	a, err := s.Store.Trigger(ctx, t)
	if s.lost > 0 {
		s.lost--
		return protocol.Triggered{}, errors.New("connection reset")
	}
	return a, err
}

func TestATriggerWhoseAnswerGotLostRunsOnce(t *testing.T) {
	inWorld(t, func(w world) {
		w.contended("report")
		store := &forgetful{w.store, 2}
		f, err := fleet.New(store)
		require.NoError(w, err)
		a, err := f.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1"})
		require.NoError(w, err)
		require.Equal(w, protocol.Opened, a.Status)
		require.Len(w, w.history("report", 0), 1)

		store.lost = 3
		_, err = f.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1"})
		require.ErrorContains(w, err, "connection reset", "it does not try for ever")
	})
}

func TestAwaitReturnsTheOutcome(t *testing.T) {
	inWorld(t, func(w world) {
		w.contended("report")
		a, err := w.fleet.Trigger(w.Context(), "report", fleet.TriggerOptions{By: "ops1"})
		require.NoError(w, err)
		done := make(chan fleet.Entry)
		go func() {
			e, err := w.fleet.Await(w.Context(), "report", a.Tick)
			if err == nil {
				done <- e
			}
			close(done)
		}()
		time.Sleep(time.Minute)
		g := w.claim("report", a.Tick.UnixMilli(), "r1")
		time.Sleep(time.Minute / 2)
		select {
		case <-done:
			require.Fail(w, "it has not ended")
		default:
		}
		w.settle(g, "failed", wire.Note{Error: "exit status 1"})
		began := time.Now()
		e := <-done
		require.LessOrEqual(w, time.Since(began), time.Second)
		require.EqualValues(w, "failed", e.Outcome)
		require.Equal(w, "exit status 1", e.Error)

		_, err = w.fleet.Await(w.Context(), "report", a.Tick.Add(time.Hour))
		require.ErrorIs(w, err, fleet.ErrNoTrace)
		w.claim("report", a.Tick.Add(time.Minute).UnixMilli(), "r1")
		ctx, cancel := context.WithTimeoutCause(w.Context(), time.Minute, errors.New("enough"))
		defer cancel()
		_, err = w.fleet.Await(ctx, "report", a.Tick.Add(time.Minute))
		require.ErrorContains(w, err, "enough")
	})
}
