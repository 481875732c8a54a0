package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
)

func TestRestFollowsFromTheAnswer(t *testing.T) {
	const now = next + 100
	answer := func(status protocol.Status) protocol.Answer {
		return protocol.Answer{Status: status, Remaining: 400 * time.Millisecond}
	}
	for name, test := range map[string]struct {
		request Request
		answer  protocol.Answer
		rest    Rest
		waited  bool
	}{
		"granted":                 {Request{}, answer(protocol.Granted), Rest{}, false},
		"decided":                 {Request{}, answer(protocol.Decided), Rest{}, false},
		"early":                   {Request{}, answer(protocol.Early), Rest{State: Resting, at: now + 401}, false},
		"late":                    {Request{}, answer(protocol.Late), Rest{State: Settling, at: now + lateRetry}, false},
		"busy":                    {Request{}, answer(protocol.Busy), Rest{State: Blocked, at: now + 401, blocked: now + 400, waiting: &waitingTick{}}, true},
		"busy, but it has ended":  {Request{Overtaken: true}, answer(protocol.Busy), Rest{blocked: now + 400, waiting: &waitingTick{}}, true},
		"busy, of an open tick":   {Request{Claim: protocol.Claim{OnlyOpen: true}}, answer(protocol.Busy), Rest{State: Blocked, at: now + 401, blocked: now + 400}, true},
		"granted after it waited": {Request{waited: true}, answer(protocol.Granted), Rest{}, true},
	} {
		var r Rest
		require.Equal(t, test.waited, r.after(&test.request, test.answer, now), name)
		require.InDelta(t, test.rest.at, r.at, 50, name) // one that is blocked rests up to 50 ms longer, at random
		r.at = test.rest.at
		require.Equal(t, test.rest, r, name)
	}
}

func TestClaimGoesOnFromTheOneThatHadToWait(t *testing.T) {
	v, _ := newView(t)
	first := v.Decide(next, false)
	require.True(t, first.Claims(next))
	v.Begin(first, time.UnixMilli(next))
	v.Pending = nil
	v.Answered(first, protocol.Answer{Status: protocol.Busy, Remaining: time.Second}, next)
	require.EqualValues(t, next, v.Cursor.Blocked)
	again := v.Decide(next+5, false)
	require.Equal(t, first.Began, again.Began)
	v.Answered(again, protocol.Answer{Status: protocol.Granted}, next+7)
	require.EqualValues(t, next+7, v.Cursor.Blocked, "it has waited until now")
}

func TestAnswersAreReportedToOthers(t *testing.T) {
	const now, tick = next + 100, next
	for name, test := range map[string]struct {
		status    protocol.Status
		watermark int64
		open      bool
		want      []reports.Report
		own       int64 // the newest tick that this replica has decided
	}{
		"granted":        {protocol.Granted, tick, false, []reports.Report{{Kind: reports.Granted, Job: "job", Tick: tick, Until: now + 10_000, Watermark: true}}, tick},
		"granted, open":  {protocol.Granted, tick, true, []reports.Report{{Kind: reports.Granted, Job: "job", Tick: tick, Until: now + 10_000}}, tick},
		"held":           {protocol.Held, tick - 1, false, []reports.Report{{Kind: reports.Granted, Job: "job", Tick: tick, Until: now + 400}}, 0},
		"queued":         {protocol.Queued, tick, false, []reports.Report{{Kind: reports.Queued, Job: "job", Tick: tick, Until: now + 400, Watermark: true}}, 0},
		"busy":           {protocol.Busy, tick - 1, false, []reports.Report{{Kind: reports.Busy, Job: "job", Tick: tick, Until: now + 400}}, 0},
		"skipped":        {protocol.Skipped, tick, false, []reports.Report{{Kind: reports.Settled, Job: "job", Tick: tick, Watermark: true}}, tick},
		"decided, later": {protocol.Decided, tick + 60_000, false, []reports.Report{{Kind: reports.Settled, Job: "job", Tick: tick, Watermark: true}, {Kind: reports.Decided, Job: "job", Tick: tick + 60_000, Watermark: true}}, 0},
		"early":          {protocol.Early, tick - 1, false, nil, 0},
	} {
		v, r := newView(t)
		claim := protocol.Claim{Tick: tick, TTL: 10 * time.Second, OnlyOpen: test.open}
		v.ReportAnswer(&claim, protocol.Answer{Status: test.status, Watermark: test.watermark, Remaining: 400 * time.Millisecond}, now)
		require.Equal(t, test.want, r.reported, name)
		require.Equal(t, test.own, v.Doubt.own, name)
	}
}
