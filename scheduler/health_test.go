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

		require.False(t, h.report(reads, 0, first))
		require.Equal(t, []Event{StoreChanged{Err: first, Hint: "none"}}, events, "at the start as well")
		require.False(t, h.report(reads, 0, second))
		time.Sleep(time.Second)
		require.True(t, h.report(reads, 0, nil))
		require.False(t, h.report(reads, 0, nil))
		require.True(t, h.isUp())
		require.False(t, h.isWorking(), "not before it has been quiet")
		time.Sleep(time.Minute)
		require.False(t, h.report(reads, 0, nil))
		require.True(t, h.isWorking())

		require.False(t, h.report(reads, 0, first))
		require.False(t, h.report(reads, 0, second))
		require.False(t, h.isUp())
		time.Sleep(3 * time.Second)
		require.True(t, h.report(reads, time.Minute, nil), "an answer is an answer, however slow")
		time.Sleep(quiet)
		h.report(reads, 0, nil)
		down := StoreChanged{Err: first, Hint: "none"}
		require.Equal(t, []Event{down, StoreChanged{Up: true, Away: time.Second}, down, StoreChanged{Up: true, Away: 3 * time.Second}}, events)
	})
}

func TestHangingCallSaysNothingAboutALaterAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		h := newHealth(func(e Event) { events = append(events, e) }, noHint)
		h.report(reads, 0, nil)
		time.Sleep(time.Second)
		h.report(reads, 0, nil)
		time.Sleep(time.Second)
		require.False(t, h.report(reads, time.Second+1, errors.New("hung")))
		require.True(t, h.isUp())
		require.Len(t, h.trouble, 1)
		h.report(reads, time.Second, errors.New("made at the same time as the one that was answered"))
		require.False(t, h.isUp())
		require.Len(t, events, 2)
	})
}

func TestFlakyStoreDoesNotRecoverAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(func(Event) {}, noHint)
		h.report(reads, 0, nil)
		for range 100 {
			h.report(reads, 0, errors.New("no"))
			time.Sleep(outageAfter - 1)
			require.False(t, h.report(reads, 0, nil))
		}
		h.report(reads, 0, errors.New("no"))
		time.Sleep(outageAfter)
		require.True(t, h.report(reads, 0, nil))
	})
}

func TestFailingWritesAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		h := newHealth(func(e Event) { events = append(events, e) }, noHint)
		h.report(reads, 0, nil)
		require.Equal(t, []Event{StoreChanged{Up: true}}, events)
		full := errors.New("full")
		h.report(writes, 0, full)
		require.Len(t, events, 1, "the next read says whether it answers")
		for range 100 { // what a replica sees while Redis is out of memory
			time.Sleep(50 * time.Millisecond)
			h.report(reads, 0, nil)
			h.report(renewals, 0, nil)
			time.Sleep(200 * time.Millisecond)
			h.report(writes, 0, full)
		}
		time.Sleep(time.Minute)
		h.report(reads, 0, nil)
		h.report(renewals, 0, nil)
		require.False(t, h.isWorking(), "no write has worked since")
		require.True(t, h.isUp(), "it answers all the same")
		down := StoreChanged{WritesOnly: true, Err: full, Hint: "none"}
		require.Equal(t, []Event{StoreChanged{Up: true}, down}, events)
		h.report(writes, 0, nil)
		require.True(t, h.isWorking())
		require.Equal(t, []Event{StoreChanged{Up: true}, down, StoreChanged{Up: true, WritesOnly: true, Away: 85 * time.Second}}, events)
	})
}

func TestStoreThatFailsSomeCallsIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		h := newHealth(func(e Event) { events = append(events, e) }, noHint)
		h.report(reads, 0, nil)
		busy := errors.New("too many clients")
		for i := range 200 {
			h.report(callKind(i%3), 0, busy)
			time.Sleep(time.Second)
			h.report(reads, 0, nil)
			h.report(writes, 0, nil)
		}
		require.Equal(t, []Event{StoreChanged{Up: true}, StoreChanged{Err: busy, Hint: "none"}}, events)
		time.Sleep(quiet)
		h.report(reads, 0, nil)
		require.Equal(t, StoreChanged{Up: true, Away: 200 * time.Second}, events[2])
	})
}

func TestFailedWriteBeforeAFailedReadIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		h := newHealth(func(e Event) { events = append(events, e) }, noHint)
		h.report(reads, 0, nil)
		cut, refused := errors.New("cut"), errors.New("refused")
		h.report(writes, 0, cut)
		time.Sleep(50 * time.Millisecond)
		h.report(reads, 10*time.Second, nil)
		require.Len(t, events, 1, "it was made before the write failed")
		h.report(reads, 0, refused)
		require.Equal(t, []Event{StoreChanged{Up: true}, StoreChanged{Err: refused, Hint: "none"}}, events)
	})
}
