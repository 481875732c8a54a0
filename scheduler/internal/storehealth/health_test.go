package storehealth

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
		var events []Change
		h := New(func(e Change) { events = append(events, e) }, noHint)
		first, second := errors.New("first"), errors.New("second")
		require.False(t, h.IsUp(), "unknown until it has answered")

		require.False(t, h.Report(Reads, 0, first))
		require.Equal(t, []Change{{Err: first, Hint: "none"}}, events, "at the start as well")
		require.False(t, h.Report(Reads, 0, second))
		time.Sleep(time.Second)
		require.True(t, h.Report(Reads, 0, nil))
		require.False(t, h.Report(Reads, 0, nil))
		require.True(t, h.IsUp())
		require.False(t, h.IsWorking(), "not before it has been quiet")
		time.Sleep(time.Minute)
		require.False(t, h.Report(Reads, 0, nil))
		require.True(t, h.IsWorking())

		require.False(t, h.Report(Reads, 0, first))
		require.False(t, h.Report(Reads, 0, second))
		require.False(t, h.IsUp())
		time.Sleep(3 * time.Second)
		require.True(t, h.Report(Reads, time.Minute, nil), "an answer is an answer, however slow")
		time.Sleep(quiet)
		h.Report(Reads, 0, nil)
		down := Change{Err: first, Hint: "none"}
		require.Equal(t, []Change{down, {Up: true, Away: time.Second}, down, {Up: true, Away: 3 * time.Second}}, events)
	})
}

func TestHangingCallSaysNothingAboutALaterAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Change
		h := New(func(e Change) { events = append(events, e) }, noHint)
		h.Report(Reads, 0, nil)
		time.Sleep(time.Second)
		h.Report(Reads, 0, nil)
		time.Sleep(time.Second)
		require.False(t, h.Report(Reads, time.Second+1, errors.New("hung")))
		require.True(t, h.IsUp())
		require.Len(t, h.Trouble, 1)
		h.Report(Reads, time.Second, errors.New("made at the same time as the one that was answered"))
		require.False(t, h.IsUp())
		require.Len(t, events, 2)
	})
}

func TestFlakyStoreDoesNotRecoverAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(func(Change) {}, noHint)
		h.Report(Reads, 0, nil)
		for range 100 {
			h.Report(Reads, 0, errors.New("no"))
			time.Sleep(outageAfter - 1)
			require.False(t, h.Report(Reads, 0, nil))
		}
		h.Report(Reads, 0, errors.New("no"))
		time.Sleep(outageAfter)
		require.True(t, h.Report(Reads, 0, nil))
	})
}

func TestFailingWritesAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Change
		h := New(func(e Change) { events = append(events, e) }, noHint)
		h.Report(Reads, 0, nil)
		require.Equal(t, []Change{{Up: true}}, events)
		full := errors.New("full")
		h.Report(Writes, 0, full)
		require.Len(t, events, 1, "the next read says whether it answers")
		for range 100 { // what a replica sees while Redis is out of memory
			time.Sleep(50 * time.Millisecond)
			h.Report(Reads, 0, nil)
			h.Report(Renewals, 0, nil)
			time.Sleep(200 * time.Millisecond)
			h.Report(Writes, 0, full)
		}
		time.Sleep(time.Minute)
		h.Report(Reads, 0, nil)
		h.Report(Renewals, 0, nil)
		require.False(t, h.IsWorking(), "no write has worked since")
		require.True(t, h.IsUp(), "it answers all the same")
		down := Change{WritesOnly: true, Err: full, Hint: "none"}
		require.Equal(t, []Change{{Up: true}, down}, events)
		h.Report(Writes, 0, nil)
		require.True(t, h.IsWorking())
		require.Equal(t, []Change{{Up: true}, down, {Up: true, WritesOnly: true, Away: 85 * time.Second}}, events)
	})
}

func TestStoreThatFailsSomeCallsIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Change
		h := New(func(e Change) { events = append(events, e) }, noHint)
		h.Report(Reads, 0, nil)
		busy := errors.New("too many clients")
		for i := range 200 {
			h.Report(CallKind(i%3), 0, busy)
			time.Sleep(time.Second)
			h.Report(Reads, 0, nil)
			h.Report(Writes, 0, nil)
		}
		require.Equal(t, []Change{{Up: true}, {Err: busy, Hint: "none"}}, events)
		time.Sleep(quiet)
		h.Report(Reads, 0, nil)
		require.Equal(t, Change{Up: true, Away: 200 * time.Second}, events[2])
	})
}

func TestFailedWriteBeforeAFailedReadIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Change
		h := New(func(e Change) { events = append(events, e) }, noHint)
		h.Report(Reads, 0, nil)
		cut, refused := errors.New("cut"), errors.New("refused")
		h.Report(Writes, 0, cut)
		time.Sleep(50 * time.Millisecond)
		h.Report(Reads, 10*time.Second, nil)
		require.Len(t, events, 1, "it was made before the write failed")
		h.Report(Reads, 0, refused)
		require.Equal(t, []Change{{Up: true}, {Err: refused, Hint: "none"}}, events)
	})
}
