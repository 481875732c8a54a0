package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

func TestFirstLookIsAtTheOldestTickThatShouldBeFree(t *testing.T) {
	for name, test := range map[string]struct {
		looks            Looks
		short            bool
		tick, at, latest int64
	}{
		"none":                           {nil, false, 0, 0, 0},
		"one that is held":               {Looks{{tick: 5, at: 120}}, false, 0, 120, 120},
		"the earlier of two":             {Looks{{tick: 5, at: 130}, {tick: 6, at: 120}}, false, 0, 120, 130},
		"one that is free":               {Looks{{tick: 5, at: 90}}, false, 5, 100, 100},
		"the older of two":               {Looks{{tick: 6, at: 80}, {tick: 5, at: 90}}, false, 5, 100, 100},
		"one without room":               {Looks{{tick: 5, at: 120, short: true}}, true, 0, 120, 120},
		"one for which there may be now": {Looks{{tick: 5, at: 120, short: true}}, false, 5, 100, 120},
	} {
		tick, at, latest := test.looks.first(100, test.short)
		require.Equal(t, [3]int64{test.tick, test.at, test.latest}, [3]int64{tick, at, latest}, name)
	}
}

func TestTickIsTakenOverOnlyWhenItMayBe(t *testing.T) {
	const now = next + 100
	for name, test := range map[string]struct {
		look    Look
		change  func(v *View, r *replica)
		claimed bool
		after   Look
	}{
		"its lease has run out":       {Look{at: now - 5}, func(*View, *replica) {}, true, Look{at: now - 5, free: now - 5}},
		"the store was away":          {Look{at: now - 5}, func(_ *View, r *replica) { r.wait = -2 * time.Second }, false, Look{at: now + 2000, free: now - 5}},
		"but its holder gave it up":   {Look{at: now - 5, released: true}, func(_ *View, r *replica) { r.wait = -2 * time.Second }, true, Look{at: now - 5, released: true, free: now - 5}},
		"or it waits":                 {Look{at: now - 5, kind: queued}, func(_ *View, r *replica) { r.wait = -2 * time.Second }, true, Look{at: now - 5, kind: queued, free: now - 5}},
		"it was triggered":            {Look{at: now - 5, kind: triggered}, func(*View, *replica) {}, true, Look{at: now - 5, kind: queued, free: now - 5}},
		"there is no room":            {Look{at: now - 5}, func(v *View, _ *replica) { v.Room.Take(1) }, false, Look{at: now + 10_000, short: true, free: now - 5}},
		"it could begin long ago":     {Look{at: now - 5, free: 7}, func(*View, *replica) {}, true, Look{at: now - 5, free: 7}},
		"it has found no room before": {Look{at: now + 50, short: true}, func(*View, *replica) {}, true, Look{at: now + 50, free: now}},
	} {
		v, r := newView(t)
		test.look.tick, test.after.tick = 5, 5
		v.Open.Set(test.look)
		test.change(v, r)
		q := v.TakeOver(5, now)
		require.Equal(t, test.claimed, q != nil, name)
		require.Equal(t, Looks{test.after}, v.Open, name)
		if test.claimed {
			require.True(t, q.Claim.OnlyOpen && q.Claims(5), name)
			require.Equal(t, time.Hour, q.Claim.TakeoverWithin, name)
		}
	}
}

func TestAnswerReplacesTheLooksButThoseThatItCannotKnow(t *testing.T) {
	const now = next + 100
	open := func(tick int64, attempt int, remaining time.Duration) protocol.Open {
		return protocol.Open{Tick: tick, Attempt: attempt, Token: tick, Remaining: remaining, Holder: "another"}
	}
	for name, test := range map[string]struct {
		before Looks
		open   []protocol.Open
		answer Answer
		after  Looks
	}{
		"one that ended":             {Looks{{tick: 5, at: now}}, nil, Answer{Now: now}, nil},
		"the one that was claimed":   {Looks{{tick: 9, at: now}}, nil, Answer{Now: now}, Looks{{tick: 9, at: now}}},
		"one that was triggered":     {Looks{{tick: 5, at: now, kind: triggered}}, nil, Answer{Now: now}, Looks{{tick: 5, at: now, kind: triggered}}},
		"one that is held":           {nil, []protocol.Open{open(5, 1, time.Second)}, Answer{Now: now}, Looks{{tick: 5, at: now + 1000}}},
		"one that waits for that":    {nil, []protocol.Open{open(5, 1, time.Second), open(6, 0, 0)}, Answer{Now: now}, Looks{{tick: 5, at: now + 1000}, {tick: 6, at: now + 1000, kind: queued}}},
		"the answer may be old":      {nil, []protocol.Open{open(5, 1, time.Second)}, Answer{Now: now, Overtaken: true}, Looks{{tick: 5, at: now, released: true}}},
		"its lease has run out":      {nil, []protocol.Open{open(5, 1, 0)}, Answer{Now: now}, Looks{{tick: 5, at: now + 300}}},
		"and is looked after":        {Looks{{tick: 5, at: now + 50, free: 7}}, []protocol.Open{open(5, 1, 0)}, Answer{Now: now}, Looks{{tick: 5, at: now + 50, free: 7}}},
		"later than it could be":     {Looks{{tick: 5, at: now + 900, free: 7}}, []protocol.Open{open(5, 1, 0)}, Answer{Now: now}, Looks{{tick: 5, at: now + 300, free: 7}}},
		"but there was no room":      {Looks{{tick: 5, at: now + 900, short: true}}, []protocol.Open{open(5, 1, 0)}, Answer{Now: now}, Looks{{tick: 5, at: now + 900, short: true}}},
		"one that may have released": {Looks{{tick: 5, at: now + 7, released: true}}, []protocol.Open{open(5, 1, time.Second)}, Answer{Now: now}, Looks{{tick: 5, at: now + 7, released: true}}},
	} {
		v, r := newView(t)
		r.wait = 300 * time.Millisecond
		v.Open = test.before
		v.Others(test.answer, test.open, 9)
		require.Len(t, v.Open, len(test.after), name)
		for i, want := range test.after {
			require.InDelta(t, want.at, v.Open[i].at, 50, name) // a look at a lease comes up to 50 ms later, at random
			v.Open[i].at = want.at
			require.Equal(t, want, v.Open[i], name)
		}
	}
}

func TestOpenTickThatWasSettledBringsAQuestion(t *testing.T) {
	v, r := newView(t)
	v.Learn(reports.Report{Kind: reports.Settled, Tick: next - 60_000}, "another", next)
	v.Others(Answer{Now: next}, []protocol.Open{{Tick: next - 60_000, Attempt: 1, Token: 1}}, 0)
	require.Equal(t, []int64{next - 60_000}, r.asked)
	require.Equal(t, Doubting, v.Step(next).State)
}

func TestEndOfARunBringsTheNextStepWhereOneWaits(t *testing.T) {
	const now = next + 100
	for name, test := range map[string]struct {
		change func(v *View)
		open   bool
		acts   bool
		after  Looks
	}{
		"nothing waits":         {func(*View) {}, false, false, nil},
		"the next tick waits":   {func(v *View) { v.Rest.Until(Blocked, now+500) }, false, true, nil},
		"one in the queue does": {func(v *View) { v.Open.Set(Look{tick: 6, at: now + 500, kind: queued}) }, false, true, Looks{{tick: 6, at: now, kind: queued}}},
		"another holds one":     {func(v *View) { v.Open.Set(Look{tick: 6, at: now + 500}) }, false, false, Looks{{tick: 6, at: now + 500}}},
		"it was left to others": {func(*View) {}, true, true, Looks{{tick: 5, at: now + 1000}}},
	} {
		v, _ := newView(t)
		v.Rest.blocked = now + 9
		test.change(v)
		require.Equal(t, test.acts, v.RunEnded(5, test.open, now), name)
		require.Equal(t, test.after, v.Open, name)
		require.EqualValues(t, now, v.Rest.blocked, name)
	}
}

func TestTickWithoutRoomWaitsUntilItIsAMisfire(t *testing.T) {
	for name, test := range map[string]struct {
		options []jobs.Option
		now     int64
		until   int64
	}{
		"just due":                     {nil, next, next + 10_001},
		"a misfire already":            {nil, next + 20_000, next + 30_000},
		"the next comes before":        {nil, next + 55_000, next + 60_000},
		"an earlier runs, with forbid": {[]jobs.Option{jobs.WithOverlap(jobs.Forbid)}, next, next + 501},
		"and with allow":               {[]jobs.Option{jobs.WithOverlap(jobs.Allow)}, next, next + 10_001},
	} {
		v, _ := newView(t, append(test.options, jobs.WithMisfire(jobs.MisfireLatest, 10*time.Second))...)
		if len(test.options) > 0 {
			v.Open.Set(Look{tick: 5, at: next + 5000})
		}
		v.WaitForRoom(next, test.now)
		require.Equal(t, Rest{State: Crowded, at: test.until}, v.Rest, name)
		require.Equal(t, test.now, v.Cursor.Full, name)
	}
}
