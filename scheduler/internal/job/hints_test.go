package job

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
)

func TestReportedWatermarkCountsUntilARecordHasConfirmedOrRefutedIt(t *testing.T) {
	const confirmed = 60_000
	reported := Hints{watermark: 180_000, next: 240_000, since: 7}
	doubted := reported
	doubted.doubted = reported.watermark
	for name, test := range map[string]struct {
		before Hints
		read   int64
		asks   bool
		after  Hints
	}{
		"nothing was reported":           {Hints{}, confirmed, false, Hints{}},
		"the record is as far":           {reported, 180_000, false, Hints{}},
		"it is behind":                   {reported, 120_000, true, doubted},
		"and others do not know more":    {doubted, 120_000, false, Hints{}},
		"others have written it back":    {doubted, 180_000, false, Hints{}},
		"it is older than what is known": {Hints{watermark: 50_000}, confirmed, false, Hints{}},
	} {
		h := test.before
		require.Equal(t, test.asks, h.read(test.read, max(confirmed, min(test.read, confirmed))), name)
		require.Equal(t, test.after, h, name)
	}
}

func TestLaterReportMovesTheHintAndKeepsWhenTheFirstCame(t *testing.T) {
	var h Hints
	h.report(60_000, 60_000, 1)
	require.Equal(t, Hints{}, h, "it is confirmed")
	h.report(120_000, 60_000, 2)
	h.report(180_000, 60_000, 3)
	h.report(120_000, 60_000, 4)
	require.Equal(t, Hints{watermark: 180_000, next: unknownTick, since: 2}, h)
	require.EqualValues(t, 240_000, h.after(func(after int64) int64 { return after + 60_000 }))
	require.EqualValues(t, 240_000, h.after(nil), "it is looked up once")
	h.report(300_000, 200_000, 5)
	require.Equal(t, Hints{watermark: 300_000, next: unknownTick, since: 5}, h, "those before were confirmed")
}

func TestReportPlansALookButDecidesNothing(t *testing.T) {
	const now = next + 100
	for name, test := range map[string]struct {
		report reports.Report
		open   Looks // of tick next
		rests  int64 // until when an earlier tick is in the way
	}{
		"granted":              {reports.Report{Kind: reports.Granted, Tick: next, Until: now + 500}, Looks{{tick: next, at: now + 500}}, 0},
		"granted for too long": {reports.Report{Kind: reports.Granted, Tick: next, Until: now + 50_000}, Looks{{tick: next, at: now + 10_000}}, 0},
		"queued":               {reports.Report{Kind: reports.Queued, Tick: next, Until: now + 500}, Looks{{tick: next, at: now + 500, kind: queued}}, 0},
		"settled":              {reports.Report{Kind: reports.Settled, Tick: next}, nil, 0},
		"busy":                 {reports.Report{Kind: reports.Busy, Tick: next, Until: now + 500}, nil, now + 500},
		"busy for too long":    {reports.Report{Kind: reports.Busy, Tick: next, Until: now + 50_000}, nil, now + 10_000},
		"of the future":        {reports.Report{Kind: reports.Granted, Tick: now + aheadBy + 1, Until: now + 500}, nil, 0},
		"full":                 {reports.Report{Kind: reports.Full, Tick: next}, nil, 0},
	} {
		v, _ := newView(t)
		v.Order.woke = 1 // else a look is planned at once
		watermark := v.Cursor
		v.Learn(test.report, "another", now)
		require.Equal(t, test.open, v.Open, name)
		require.Equal(t, test.rests, v.Rest.blocked, name)
		require.Equal(t, watermark, v.Cursor, name)
	}
}

func TestReportOfAGrantFromBeforeTheNotificationIsLookedAtAtOnce(t *testing.T) {
	const now = next + 100
	v, _ := newView(t)
	v.Woken(0, now)
	late := reports.Report{Kind: reports.Granted, Tick: next, Until: now + 10_000}
	require.EqualValues(t, 1, v.Learn(late, "another", now))
	require.Equal(t, Looks{{tick: next, at: now, released: true}}, v.Open)

	v, _ = newView(t)
	v.Woken(0, now)
	v.Pending = &Request{Claim: protocol.Claim{Tick: next}}
	v.Learn(late, "another", now)
	require.Empty(t, v.Open, "this replica claims it")
	v.Open.Set(Look{tick: next, at: now + 5})
	v.Learn(reports.Report{Kind: reports.Settled, Tick: next}, "another", now)
	require.Len(t, v.Open, 1, "the answer says what became of it")
}
