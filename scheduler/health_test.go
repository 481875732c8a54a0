package scheduler

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func noHint(error) string { return "none" }

func TestHealthReportsDownAndUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		h := newHealth(func(e Event) { events = append(events, e) }, noHint)
		first, second := errors.New("first"), errors.New("second")
		require.False(t, h.isUp(), "unknown until it has answered")
		require.Zero(t, h.steady())

		require.False(t, h.report(0, first))
		require.Equal(t, []Event{StoreChanged{Err: first, Hint: "none"}}, events, "at the start as well")
		require.False(t, h.report(0, second))
		time.Sleep(time.Second)
		require.True(t, h.report(0, nil))
		require.False(t, h.report(0, nil))
		require.True(t, h.isUp())
		time.Sleep(time.Minute)
		require.Equal(t, time.Minute, h.steady())

		require.False(t, h.report(0, first))
		require.False(t, h.report(0, second))
		require.False(t, h.isUp())
		require.Zero(t, h.steady())
		time.Sleep(3 * time.Second)
		require.True(t, h.report(time.Minute, nil), "an answer is an answer, however slow")
		require.Zero(t, h.steady())
		down := StoreChanged{Err: first, Hint: "none"}
		require.Equal(t, []Event{down, StoreChanged{Up: true, Away: time.Second}, down, StoreChanged{Up: true, Away: 3 * time.Second}}, events)
	})
}

func TestASlowAnswerIsTroubleToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(func(Event) {}, noHint)
		h.report(0, nil)
		h.report(0, errors.New("no"))
		h.report(0, nil)
		time.Sleep(time.Minute)
		require.False(t, h.report(slow, nil))
		require.Equal(t, time.Minute, h.steady())
		require.False(t, h.report(slow+1, nil))
		require.True(t, h.isUp())
		require.Zero(t, h.steady())
	})
}

func TestStoreThatAnswersTheFirstCallIsSteady(t *testing.T) {
	h := newHealth(func(Event) {}, noHint)
	h.report(0, nil)
	require.Greater(t, h.steady(), settleGrace, "a replica that starts has no reason to wait")

	h = newHealth(func(Event) {}, noHint)
	h.report(0, errors.New("no"))
	h.report(0, nil)
	require.Less(t, h.steady(), settleGrace, "this one has")
}

func TestHangingCallSaysNothingAboutALaterAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		h := newHealth(func(e Event) { events = append(events, e) }, noHint)
		h.report(0, nil)
		time.Sleep(time.Second)
		h.report(0, nil)
		time.Sleep(time.Second)
		require.False(t, h.report(time.Second+1, errors.New("hung")))
		require.True(t, h.isUp())
		require.Zero(t, h.steady(), "but it is trouble")
		require.Len(t, h.trouble, 1)
		h.report(time.Second, errors.New("made at the same time as the one that was answered"))
		require.False(t, h.isUp())
		require.Len(t, events, 2)
	})
}

func TestFlakyStoreDoesNotRecoverAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(func(Event) {}, noHint)
		h.report(0, nil)
		for range 100 {
			h.report(0, errors.New("no"))
			time.Sleep(outageAfter - 1)
			require.False(t, h.report(0, nil))
		}
		h.report(0, errors.New("no"))
		time.Sleep(outageAfter)
		require.True(t, h.report(0, nil))
	})
}
