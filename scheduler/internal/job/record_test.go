package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestRecordIsReadForTheStrongestReason(t *testing.T) {
	for name, test := range map[string]struct {
		change []func(r *Record)
		want   reading
	}{
		"read":                         {nil, read},
		"to confirm":                   {[]func(*Record){(*Record).confirm}, confirming},
		"while it goes on":             {[]func(*Record){(*Record).Verify}, stale},
		"before anything else":         {[]func(*Record){(*Record).Forget}, unread},
		"to confirm, which waits":      {[]func(*Record){(*Record).Verify, (*Record).confirm}, confirming},
		"to confirm comes first":       {[]func(*Record){(*Record).confirm, (*Record).Verify}, confirming},
		"after a loss, and to confirm": {[]func(*Record){(*Record).Forget, (*Record).confirm, (*Record).Verify}, unread},
		"to confirm, and after a loss": {[]func(*Record){(*Record).confirm, (*Record).Forget}, unread},
	} {
		r := Record{reading: read}
		for _, change := range test.change {
			change(&r)
		}
		require.Equal(t, test.want, r.reading, name)
		require.Equal(t, test.want >= stale, r.IsRead(), name)
		require.Equal(t, test.want != read, r.NeedsReading(), name)
	}
}

func TestRecordIsMadeAgainWithWhatIsKnown(t *testing.T) {
	const now, since = next + 150_000, 1 // two ticks are due
	for name, test := range map[string]struct {
		change    func(v *View)
		since     int64
		watermark int64
	}{
		"for the first time":               {func(v *View) { v.Record.made = false }, since, now},
		"it is gone alone":                 {func(*View) {}, since, next - 1},
		"and nothing is known":             {func(v *View) { v.Cursor.Watermark = 0 }, since, now},
		"the store has lost all":           {func(*View) {}, next + 90_000, next + 90_000},
		"before the watermark":             {func(*View) {}, next - 90_000, next - 1},
		"others have reported a later one": {func(v *View) { v.Hints.report(next+60_000, next-1, now) }, next + 30_000, next + 30_000},
	} {
		v, _ := newView(t)
		test.change(v)
		y := v.ReadRequest(now, test.since, time.UnixMilli(now+1))
		require.Equal(t, test.watermark, y.Watermark, name)
		require.Equal(t, v.Cursor.Watermark, y.Known, name)
		require.False(t, y.Defines, name)
	}
}

func TestRecordThatWasLostTellsWhatNobodyRan(t *testing.T) {
	const later = next + 125_000
	for name, test := range map[string]struct {
		change  func(v *View)
		record  protocol.Record
		since   int64
		lost    bool
		skipped []Skipped
	}{
		"found":               {func(*View) {}, protocol.Record{Watermark: later}, 1, false, nil},
		"made again alone":    {func(*View) {}, protocol.Record{Made: true, Watermark: next - 1}, 1, true, nil},
		"made with a gap":     {func(*View) {}, protocol.Record{Made: true, Watermark: later}, 2, false, []Skipped{{next + 120_000, 3, wire.Missed, wire.ReasonForgotten}}},
		"and a tick in queue": {func(v *View) { v.Open.Set(Look{tick: 5, kind: queued}) }, protocol.Record{Made: true, Watermark: next - 1}, 2, false, []Skipped{{5, 1, wire.Missed, wire.ReasonForgotten}}},
		"which is there again": {func(v *View) { v.Open.Set(Look{tick: 5, kind: queued}) },
			protocol.Record{Made: true, Watermark: next - 1, Open: []protocol.Open{{Tick: 5}}}, 2, false, nil},
		"one that another held": {func(v *View) { v.Open.Set(Look{tick: 5}) }, protocol.Record{Made: true, Watermark: next - 1}, 2, false, nil},
	} {
		v, r := newView(t)
		test.change(v)
		lost, skipped := v.Read(test.record, test.since, later)
		require.Equal(t, test.lost, lost, name)
		require.Equal(t, test.lost, len(r.asked) == 1, name)
		require.Equal(t, test.skipped, skipped, name)
		require.Equal(t, test.record.Made, v.Rest.notBefore == test.since+1500, name)
	}
}

func TestReadRecordEndsTheHintsAndThePause(t *testing.T) {
	v, r := newView(t, jobs.WithDelivery(jobs.AtLeastOnce))
	v.Record.Paused = new(protocol.Pause)
	v.Hints.report(next+60_000, next-1, next)
	v.Read(protocol.Record{Watermark: next}, 1, next+1)
	require.Nil(t, v.Record.Paused)
	require.Equal(t, []int64{next}, r.asked, "the record is behind what was reported")
	require.EqualValues(t, next+60_000, v.Watermark())
	v.Doubt.asked, v.Doubt.inquiries = false, nil
	v.Read(protocol.Record{Watermark: next}, 1, next+2)
	require.EqualValues(t, next, v.Watermark(), "nobody has written it back")
	require.Len(t, r.asked, 1)
}

func TestBackupsCountFromAReadUnlessItOnlyConfirms(t *testing.T) {
	for name, test := range map[string]struct {
		change func(v *View)
		from   int64
	}{
		"after a loss": {func(v *View) { v.Record.Forget() }, next + 9},
		"to confirm":   {func(v *View) { v.Confirm(next) }, next - 1000},
		"for room":     {func(v *View) { v.Record.Verify() }, next - 1000},
	} {
		v, _ := newView(t)
		test.change(v)
		v.Read(protocol.Record{Watermark: next - 1}, 1, next+9)
		require.Equal(t, test.from, v.Order.from, name)
	}
}
