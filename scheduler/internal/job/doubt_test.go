package job

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler/internal/reports"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

func TestDoubtEndsWithTheLastInquiry(t *testing.T) {
	const longest = 2000
	first, second := reports.InquiryID{Asker: "a", Number: 1}, reports.InquiryID{Asker: "a", Number: 2}
	for name, test := range map[string]struct {
		change func(d *Doubt)
		now    int64
		want   int64
	}{
		"both last":               {func(*Doubt) {}, 4999, 6000},
		"one has ended":           {func(*Doubt) {}, 5000, 6000},
		"both have":               {func(*Doubt) {}, 6000, 0},
		"the later was answered":  {func(d *Doubt) { d.Answered(second) }, 4999, 5000},
		"both were":               {func(d *Doubt) { d.Answered(first); d.Answered(second) }, 4999, 0},
		"fleet time stepped back": {func(*Doubt) {}, 5000 - longest - aheadBy, 5000},
		"and further":             {func(*Doubt) {}, 4999 - longest - aheadBy, 0},
	} {
		d := Doubt{inquiries: map[reports.InquiryID]int64{}}
		d.enter(first, 5000)
		d.enter(second, 6000)
		d.enter(first, 9000) // the question was repeated
		test.change(&d)
		require.Equal(t, test.want, d.ends(test.now, longest), name)
	}
}

func TestRecordIsDoubtedOnlyWhereItAloneHasLostSomething(t *testing.T) {
	found, made, restored := protocol.Record{}, protocol.Record{Made: true}, protocol.Record{Restored: true}
	for name, test := range map[string]struct {
		before       Doubt
		record       protocol.Record
		remembers    bool
		lost, proven bool
	}{
		"found":                             {Doubt{}, found, true, false, false},
		"made again":                        {Doubt{}, made, true, true, true},
		"went back":                         {Doubt{}, restored, true, true, true},
		"a claim did not find it":           {Doubt{missing: true}, found, true, true, true},
		"the store has lost all":            {Doubt{missing: true}, made, false, false, false},
		"proven, and not asked about":       {Doubt{proven: true}, found, true, false, false},
		"proven, and the answers are there": {Doubt{proven: true, asked: true}, found, true, false, true},
	} {
		d := test.before
		require.Equal(t, test.lost, d.read(test.record, test.remembers), name)
		require.Equal(t, test.proven, d.proven, name)
		require.False(t, d.missing || d.unread, name)
	}
}

func TestOpenTickThatWasReportedSettledIsSuspectedOnce(t *testing.T) {
	var d Doubt
	for tick := int64(1); tick <= 5; tick++ { // of which the last four are remembered
		d.reportSettled(tick)
		d.reportSettled(tick)
	}
	open := []protocol.Open{{Tick: 0}, {Tick: 1}, {Tick: 2}, {Tick: 5}, {Tick: 6}}
	require.Equal(t, []int64{2, 5}, d.suspects(open))
	require.Empty(t, d.suspects(open))
}

func TestKnownWatermarkIsWrittenBackOnlyIfItCanBeTrusted(t *testing.T) {
	const reported = next + 60_000
	for name, test := range map[string]struct {
		options []jobs.Option
		change  func(v *View)
		now     int64
		want    int64
	}{
		"what the store has said":               {nil, func(*View) {}, next, next - 1},
		"not what others have":                  {nil, func(v *View) { v.Hints.report(reported, next-1, next) }, next, next - 1},
		"but it if the record has lost one":     {nil, func(v *View) { v.Hints.report(reported, next-1, next); v.Doubt.proven = true }, next, reported},
		"or if a tick must not run twice":       {[]jobs.Option{jobs.WithDelivery(jobs.AtMostOnce)}, func(v *View) { v.Hints.report(reported, next-1, next) }, next, reported},
		"as far ahead as a step may be":         {nil, func(*View) {}, next - 1 - 10_000, next - 1},
		"not one that came from a wrong clock":  {nil, func(*View) {}, next - 2 - 10_000, 0},
		"nor one beside that, proven or not":    {nil, func(v *View) { v.Doubt.proven = true }, next - 2 - 10_000, 0},
		"an older one that others have is none": {nil, func(v *View) { v.Hints.report(5, next-1, next); v.Doubt.proven = true }, next, next - 1},
	} {
		v, _ := newView(t, test.options...)
		test.change(v)
		require.Equal(t, test.want, v.Known(test.now), name)
	}
}

func TestQuestionIsAnsweredByAReadIfTheReplicaMayKnowMore(t *testing.T) {
	id := reports.InquiryID{Asker: "another", Number: 1}
	for name, test := range map[string]struct {
		change    func(v *View)
		watermark int64
		reads     bool
	}{
		"it knows as much":          {func(*View) {}, next - 1, false},
		"it knows a later one":      {func(*View) {}, next - 2, true},
		"it decided the same":       {func(v *View) { v.Doubt.decided(next) }, next, true},
		"it decided an earlier one": {func(v *View) { v.Doubt.decided(next - 1) }, next, false},
		"its record is not read":    {func(v *View) { v.Record.Forget() }, 5, false},
	} {
		v, r := newView(t)
		test.change(v)
		v.Questioned(id, test.watermark, next)
		require.Equal(t, test.reads, r.syncs == 1, name)
		require.Equal(t, test.reads, v.Record.reading == confirming, name)
		require.EqualValues(t, next+2000, v.Doubt.ends(next, 2000), name)
	}
}
